// Language models and embeddings for plugins: a shared queue, budget and answer store.
import { AppError, Clock, definePlugin, Ids, JobQueue, Store, UnitsOfWork } from "#core"
import { FairLimiter, importedAtStart, Metrics, measureWaiting, Outgoing } from "#core/engine"
import { Integrations } from "../integrations/index.ts"
import { Budget, ModelAccounts } from "./budget.ts"
import { AnswerCollection, DayCostCollection } from "./collections.ts"
import { HeldCallsCollection, Holds } from "./holds.ts"
import { ModelMeters } from "./meters.ts"
import { bookLostJob, createModels, Models } from "./models.ts"
import { importLibraries } from "./provider.ts"
import { reasons } from "./reasons.ts"
import { ModelSettings } from "./settings.ts"
import { listModels, ModelsConfigured } from "./usage.ts"

export { ModelAccounts } from "./budget.ts"
export type { Answered } from "./calls.ts"
export type { Account } from "./holds.ts"
export { Models, type Prompt, type Question } from "./models.ts"
export type { PastTurn } from "./turn.ts"

export default definePlugin({
  id: "models",
  reasons,
  needs: ["integrations"],
  config: ModelSettings,
  extensionPoints: [ModelAccounts],
  register(registrar, config) {
    registrar.collections(DayCostCollection, AnswerCollection, HeldCallsCollection)
    registrar.operations(listModels)
    registrar.jobs(bookLostJob)
    registrar.run(
      "libraries",
      importedAtStart(() => importLibraries(config)),
    )
    registrar.provide(ModelsConfigured, { create: () => config })
    registrar.provide(Models, {
      inject: {
        outgoing: Outgoing,
        settings: ModelsConfigured,
        store: Store,
        clock: Clock,
        ids: Ids,
        works: UnitsOfWork,
        queue: JobQueue,
        integrations: Integrations,
        metrics: Metrics,
        accounts: ModelAccounts,
      },
      create({ metrics, outgoing, ...deps }) {
        const { concurrency, max_waiting } = config
        const limiter = new FairLimiter({ slots: concurrency, maxWaiting: max_waiting, refusal: () => queueFull(max_waiting) })
        measureWaiting(metrics, "models", () => limiter.shares())
        return createModels({
          ...deps,
          capture: outgoing.capture,
          limiter,
          budget: new Budget({ ...deps, holds: new Holds(deps), limits: config }),
          meters: new ModelMeters(metrics),
        })
      },
    })
  },
})

function queueFull(waiting: number): AppError {
  const message = `${waiting} calls of models wait on this node, the most that may; try again later.`
  return new AppError("resource_exhausted", message, { reason: "model_queue_full" }, { retryAfterS: 10 })
}
