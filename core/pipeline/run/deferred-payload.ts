// What the job of an execution's deferred steps carries, and what it needs of the engine.
import { z } from "zod"
import type { Json } from "../../contract/collection.ts"
import { token } from "../../kernel/di.ts"
import type { LivePipeline } from "../event/loaded-pipelines.ts"
import type { JournalEntry } from "../journal/entry.ts"
import type { Execution } from "./execution.ts"
import type { StepServices } from "./step.ts"

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
  /** The pipeline as it was at that revision; null when it is gone or no longer compiles. */
  pipelineAt(organization: string, pipelineId: string, revision: number): Promise<LivePipeline | null>
  /** Announces that an entry has another status than was announced. */
  entryChanged(entry: JournalEntry): void
}

export const DeferredServices = token<DeferredServices>("DeferredServices")

export function deferredPayload(execution: Execution, revision: number): DeferredPayload {
  const { args, scope } = execution
  return {
    organization: args.stored.organization.id,
    pipeline_id: args.stored.id,
    revision,
    execution_id: args.id,
    origin_id: args.originId,
    identity: args.identity,
    received_at: args.receivedAt,
    event: args.event,
    payload: args.graph.reads.payload ? args.payload : null,
    query: args.graph.reads.query ? args.query : null,
    envelope: args.envelope as unknown as Record<string, Json>,
    stamp: { ...args.stamp },
    depth: args.depth,
    results: scope.steps as Record<string, Json>,
  }
}
