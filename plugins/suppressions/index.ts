// The suppression list: whom an organization's mail must not go to, with the evidence, obeyed by all mail of the service.
import { z } from "zod"
import { Clock, definePlugin, Ids, Log, Store, token, UnitsOfWork, Vault } from "#core"
import { MailGuards } from "../email/index.ts"
import { MailKeyCollection, SuppressionCollection } from "./collections.ts"
import { suppressionGuard } from "./guard.ts"
import { MailKeys } from "./keys.ts"
import { addSuppression, getSuppression, listSuppressions, removeSuppression } from "./operations.ts"
import { reasons } from "./reasons.ts"
import { Suppressions, SuppressionsToken } from "./suppressions.ts"

const Keys = token<MailKeys>("MailKeys")

export default definePlugin({
  id: "suppressions",
  reasons,
  needs: ["email"],
  config: z.strictObject({}),
  register(registrar) {
    registrar.collections(SuppressionCollection, MailKeyCollection)
    registrar.operations(addSuppression, listSuppressions, getSuppression, removeSuppression)
    registrar.provide(Keys, {
      inject: { store: Store, vault: Vault, clock: Clock, ids: Ids },
      create: (services) => new MailKeys(services),
    })
    registrar.provide(SuppressionsToken, {
      inject: { store: Store, clock: Clock, keys: Keys },
      create: (services) => new Suppressions(services),
    })
    registrar.run("guard", {
      inject: { guards: MailGuards, suppressions: SuppressionsToken, work: UnitsOfWork, log: Log },
      create({ guards, ...services }) {
        guards.use(suppressionGuard(services))
      },
    })
  },
})
