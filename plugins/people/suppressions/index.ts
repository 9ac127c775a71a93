// The suppression list: addresses that must not receive an organization's mail, with evidence. All mail of the service obeys it.
import { Clock, definePlugin, injected, Log, PublicUrl, Store, UnitsOfWork } from "#core"
import { MailGuards } from "../email/index.ts"
import { MailHandlers } from "../inbound-mail/index.ts"
import { bounceHandler } from "./bounces/handler.ts"
import { SentMailCollection } from "./bounces/sent-mail.ts"
import { Settings, SoftBounceCollection } from "./bounces/soft-bounces.ts"
import { MailKeyCollection, SuppressionCollection } from "./collections.ts"
import { suppressionGuard } from "./guard.ts"
import { MailKeys } from "./keys.ts"
import { addSuppression, getSuppression, listSuppressions, removeSuppression } from "./operations.ts"
import { reasons } from "./reasons.ts"
import { Suppressions } from "./suppressions.ts"
import { askToUnsubscribe, unsubscribe } from "./unsubscribe-routes.ts"

export { MailKeys } from "./keys.ts"
export { confirmation, linkPage, unknownPage } from "./link-page.ts"
export { openLink, sealLink } from "./sealed-link.ts"
export { Suppressions } from "./suppressions.ts"

export default definePlugin({
  id: "suppressions",
  reasons,
  needs: ["email", "inbound-mail", "organizations"],
  config: Settings,
  extend: (settings) => [
    [
      MailGuards,
      injected(
        { store: Store, clock: Clock, keys: MailKeys, suppressions: Suppressions, work: UnitsOfWork, publicUrl: PublicUrl, log: Log },
        suppressionGuard,
      ),
    ],
    [
      MailHandlers,
      injected({ store: Store, clock: Clock, suppressions: Suppressions, log: Log }, (services) =>
        bounceHandler({ ...services, settings }),
      ),
    ],
  ],
  register(registrar) {
    registrar.collections(SuppressionCollection, MailKeyCollection, SentMailCollection, SoftBounceCollection)
    registrar.operations(addSuppression, listSuppressions, getSuppression, removeSuppression)
    registrar.routes(askToUnsubscribe, unsubscribe)
    registrar.provide(MailKeys)
    registrar.provide(Suppressions)
  },
})
