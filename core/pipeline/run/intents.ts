// Before an awaited action acts on the world, its intent is on disk; so is its outcome, with the event. A replay, or the
// provider's retry after a crash, finds the outcome and does not act again, or finds the intent alone and acts with the
// same idempotency key.
import type { Json } from "../../contract/collection.ts"
import type { Store } from "../../contract/store.ts"
import { StagedWork } from "../../contract/unit-of-work.ts"
import { type Clock, timestamp } from "../../kernel/clock.ts"
import type { Step } from "../graph.ts"
import { IntentCollection } from "../journal/collections.ts"
import { type Execution, idempotencyKey } from "./execution.ts"

export interface Intents {
  /** Commits the intent; resolves to the earlier outcome where there is one. */
  begin(execution: Execution, step: Step): Promise<{ result: Json } | undefined>
  /** Stages the outcome with the event. */
  finish(execution: Execution, step: Step, result: unknown): void
}

export function storedIntents({ store, clock, keepMs }: { store: Store; clock: Clock; keepMs: number }): Intents {
  return {
    async begin(execution, step) {
      const organization = execution.input.stored.organization.id
      const id = idempotencyKey(execution.input.identity, step.id, 0)
      const fresh = execution.input.identity === execution.input.executionId
      const earlier = !fresh ? await store.open(IntentCollection, organization).get(id) : undefined
      if (earlier?.state === "done") return { result: earlier.result }
      const work = new StagedWork(`${execution.input.executionId}:intent:${step.id}`)
      const now = clock.now()
      work.in(IntentCollection, organization).insert(
        {
          id,
          execution_id: execution.input.executionId,
          step: step.id,
          state: "started",
          result: null,
          at: timestamp(now),
          expires_at: timestamp(now + keepMs),
        },
        { ifPresent: "keep" },
      )
      await store.commit(work.commit)
      return undefined
    },
    finish(execution, step, result) {
      const organization = execution.input.stored.organization.id
      const id = idempotencyKey(execution.input.identity, step.id, 0)
      execution.kept.in(IntentCollection, organization).update(id, { $set: { state: "done", result: result as Json } }, { optional: true })
    },
  }
}
