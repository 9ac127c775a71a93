// Services of every event source.
import type { Pauses } from "../../contract/pauses.ts"
import type { Store } from "../../contract/store.ts"
import type { Clock } from "../../kernel/clock.ts"
import { AppError } from "../../kernel/errors.ts"
import type { Ids } from "../../kernel/ids.ts"
import type { EventResult } from "../engine.ts"
import { answerReply } from "../event/answer.ts"
import type { EventContext } from "../event/event.ts"
import type { LoadedPipeline, LoadedPipelines } from "../event/loaded-pipelines.ts"
import type { EventProcessor } from "../event/process.ts"
import type { Stage } from "../event/stages.ts"
import { draftEntry } from "../journal/draft.ts"
import type { JournalEntry } from "../journal/entry.ts"
import type { StoredPipeline } from "../source.ts"

export interface SourceServices {
  readonly processor: EventProcessor
  readonly pipelines: LoadedPipelines
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly entriesDays: number
  readonly payloadsDays: number
  readonly pauses: Pauses
}

/** Creates an undecided entry. The default receipt time is now. */
export function newEntry(
  { clock, ids, entriesDays }: Pick<SourceServices, "clock" | "ids" | "entriesDays">,
  { stored, graph }: Pick<LoadedPipeline, "stored" | "graph">,
  more: { id?: string; receivedAtMs?: number; depth?: number; replayOf?: string } = {},
): JournalEntry {
  const { id = ids.uuid(), receivedAtMs = clock.now(), depth, replayOf } = more
  return draftEntry({
    id,
    stored,
    digest: graph.digest,
    receivedAtMs,
    entriesDays,
    ...(depth === undefined ? {} : { depth }),
    ...(replayOf === undefined ? {} : { replayOf }),
  })
}

/** Processes an internal event. Throws if the caller must retry. */
export async function processInternal(processor: EventProcessor, event: EventContext, stages: readonly Stage[]): Promise<EventResult> {
  const reply = await processor.process(event, stages)
  if (event.fault) throw event.fault
  const headers = answerReply(reply).headers ?? {}
  return { execution_id: event.journalId, status: event.entry.status, reply: { status: reply.status, headers, body: reply.body } }
}

/** Refuses events of an inactive pipeline. `force` allows a disabled pipeline. */
export function refuseInactive({ slug, document }: StoredPipeline, force: boolean): void {
  const { state } = document
  if (state === "active" || (force && state === "disabled")) return
  const remedy = state === "disabled" ? "activate it, or let an admin pass force: true" : "activate it"
  throw new AppError("failed_precondition", `The pipeline "${slug}" is ${state}; only an active one accepts events: ${remedy}.`, {
    reason: "not_active",
  })
}
