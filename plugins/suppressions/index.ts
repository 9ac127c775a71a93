// The suppression list: whom an organization's mail must not go to, with the evidence, obeyed by all mail of the service.
import { z } from "zod"
import { Clock, definePlugin, Ids, Log, PublicUrl, Store, UnitsOfWork, Vault } from "#core"
import { MailGuards } from "../email/index.ts"
import { MailKeyCollection, SuppressionCollection } from "./collections.ts"
import { suppressionGuard } from "./guard.ts"
import { Keys, MailKeys } from "./keys.ts"
import { addSuppression, getSuppression, listSuppressions, removeSuppression } from "./operations.ts"
import { reasons } from "./reasons.ts"
import { Suppressions, SuppressionsToken } from "./suppressions.ts"
import { askToUnsubscribe, unsubscribe } from "./unsubscribe-routes.ts"

export default definePlugin({
  id: "suppressions",
  reasons,
  needs: ["email", "organizations"],
  config: z.strictObject({}),
  register(registrar) {
    registrar.collections(SuppressionCollection, MailKeyCollection)
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
    registrar.run("guard", {
      inject: { guards: MailGuards, keys: Keys, suppressions: SuppressionsToken, work: UnitsOfWork, publicUrl: PublicUrl, log: Log },
      create({ guards, ...services }) {
        guards.use(suppressionGuard(services))
      },
    })
  },
})
