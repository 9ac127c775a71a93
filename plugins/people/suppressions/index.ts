// The suppression list: whom an organization's mail must not go to, with the evidence, obeyed by all mail of the service.
import { Clock, definePlugin, Ids, injected, Log, PublicUrl, Store, UnitsOfWork, Vault } from "#core"
import { MailGuards } from "../email/index.ts"
import { MailHandlers } from "../inbound-mail/index.ts"
import { bounceHandler } from "./bounces/handler.ts"
import { SentMailCollection } from "./bounces/sent-mail.ts"
import { SoftBounceCollection } from "./bounces/soft-bounces.ts"
import { MailKeyCollection, SuppressionCollection } from "./collections.ts"
import { suppressionGuard } from "./guard.ts"
import { Keys, MailKeys } from "./keys.ts"
import { addSuppression, getSuppression, listSuppressions, removeSuppression } from "./operations.ts"
import { reasons } from "./reasons.ts"
import { Settings } from "./settings.ts"
import { Suppressions, SuppressionsToken } from "./suppressions.ts"
import { askToUnsubscribe, unsubscribe } from "./unsubscribe-routes.ts"

export { Keys } from "./keys.ts"
export { confirmation, linkPage, unknownPage } from "./link-page.ts"
export { openLink, sealLink } from "./sealed-link.ts"
export { type Suppressions, SuppressionsToken } from "./suppressions.ts"

export default definePlugin({
  id: "suppressions",
  reasons,
  needs: ["email", "inbound-mail", "organizations"],
  config: Settings,
  extend: (settings) => [
    [
      MailGuards,
      injected(
        { store: Store, clock: Clock, keys: Keys, suppressions: SuppressionsToken, work: UnitsOfWork, publicUrl: PublicUrl, log: Log },
        suppressionGuard,
      ),
    ],
    [
      MailHandlers,
      injected({ store: Store, clock: Clock, suppressions: SuppressionsToken, log: Log }, (services) =>
        bounceHandler({ ...services, settings }),
      ),
    ],
  ],
  register(registrar) {
    registrar.collections(SuppressionCollection, MailKeyCollection, SentMailCollection, SoftBounceCollection)
    registrar.operations(addSuppression, listSuppressions, getSuppression, removeSuppression)
    registrar.routes(askToUnsubscribe, unsubscribe)
    registrar.provide(Keys, {
      inject: { store: Store, vault: Vault, clock: Clock, ids: Ids },
      create: (services) => new MailKeys(services),
    })
    registrar.provide(SuppressionsToken, {
      inject: { store: Store, clock: Clock, keys: Keys },
      create: (services) => new Suppressions(services),
    })
  },
})
