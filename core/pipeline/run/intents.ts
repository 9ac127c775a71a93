// Stores the intent of an awaited action before its external effect. The outcome is stored with the event. After a replay or a
// provider's retry, a stored outcome prevents a second call. With only an intent, the action runs again with the same idempotency
// key.
import type { Json } from "../../contract/collection.ts"
import type { Store } from "../../contract/store.ts"
import { StagedWork } from "../../contract/unit-of-work.ts"
import { type Clock, timestamp } from "../../kernel/clock.ts"
import type { Step } from "../graph.ts"
import { IntentCollection } from "../journal/collections.ts"
import { type Execution, idempotencyKey } from "./execution.ts"

export interface Intents {
  /** Commits the intent. Resolves to the earlier outcome, if any. */
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
