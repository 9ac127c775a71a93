// Reads the use of a pipeline's secrets, over all nodes.
import type { Clock, Store } from "#core"
import type { SecretUseSource } from "../../pipelines/index.ts"
import { SecretUses } from "./collection.ts"
import type { SecretUseCounter } from "./counter.ts"
import { eventsOfLastHour } from "./merge.ts"

interface SecretUseDeps {
  readonly store: Store
  readonly clock: Clock
  readonly counter: SecretUseCounter
}

export function secretUses({ store, clock, counter }: SecretUseDeps): SecretUseSource {
  return async (organization, pipelineId) => {
    await counter.flush()
    const uses = await store.open(SecretUses, organization).find({ pipeline_id: pipelineId }, { limit: 1_000 })
    return new Map(uses.map((use) => [use.id, { ...use, verified_last_hour: eventsOfLastHour(use, clock.now()) }]))
  }
}
