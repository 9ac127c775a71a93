// What the job of an execution's deferred steps carries, and what it needs of the engine.
import { z } from "zod"
import type { Json } from "../../contract/collection.ts"
import { token } from "../../kernel/di.ts"
import type { JournalEntry } from "../journal/entry.ts"
import type { Execution, Runnable } from "./execution.ts"
import type { StepServices } from "./step.ts"
import type { StepSlots } from "./step-slots.ts"

export const DeferredPayload = z.object({
  organization: z.string(),
  pipeline_id: z.string(),
  revision: z.number(),
  execution_id: z.string(),
  origin_id: z.string(),
  identity: z.string(),
  received_at: z.string(),
  event: z.json(),
  payload: z.json(),
  query: z.json(),
  envelope: z.record(z.string(), z.json()),
  stamp: z.record(z.string(), z.json()),
  depth: z.number(),
  results: z.record(z.string(), z.json()),
})
export type DeferredPayload = z.infer<typeof DeferredPayload>

/** What the job needs of the engine. */
export interface DeferredServices extends StepServices {
  readonly slots: StepSlots
  /** The pipeline as it was at that revision; null when it is gone or no longer compiles. */
  pipelineAt(organization: string, pipelineId: string, revision: number): Promise<Runnable | null>
  /** Announces that an entry has another status than was announced. */
  entryChanged(entry: JournalEntry): void
}

export const DeferredServices = token<DeferredServices>("DeferredServices")

export function deferredPayload(execution: Execution, revision: number): DeferredPayload {
  const { input, scope } = execution
  return {
    organization: input.stored.organization.id,
    pipeline_id: input.stored.id,
    revision,
    execution_id: input.executionId,
    origin_id: input.originId,
    identity: input.identity,
    received_at: input.receivedAt,
    event: input.event,
    payload: input.graph.reads.payload ? input.payload : null,
    query: input.graph.reads.query ? input.query : null,
    envelope: input.envelope as unknown as Record<string, Json>,
    stamp: { ...input.stamp },
    depth: input.depth,
    results: scope.steps as Record<string, Json>,
  }
}
