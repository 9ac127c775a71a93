// Port for plugins that process the events of a purpose themselves. The engine finds the pipeline, verifies and stamps the
// request, and writes the journal. The plugin interprets the request, for example as a batch of events.
import type { Reply } from "../contract/action.ts"
import type { InboundRequest } from "../contract/auth-mode.ts"
import type { Caller } from "../contract/caller.ts"
import type { Json } from "../contract/collection.ts"
import type { UnitOfWork } from "../contract/unit-of-work.ts"
import { token } from "../kernel/di.ts"
import type { AppError } from "../kernel/errors.ts"
import type { PipelineDocument } from "./document.ts"
import type { EventResult } from "./engine.ts"
import type { JournalEntry } from "./journal/entry.ts"
import type { StoredPipeline } from "./source.ts"
import type { RequestStamp } from "./stamp/stamp.ts"

/** A verified request to a pipeline with an intake. */
export interface Arrival {
  readonly pipeline: StoredPipeline
  /** The parsed body: JSON, or the fields of a form. */
  readonly body: Json
  readonly headers: InboundRequest["headers"]
  /** Client address according to the trusted proxies. */
  readonly address: string
  readonly stamp: RequestStamp
  /** True if the header marks test traffic. The body may mark it as well. */
  readonly isTest: boolean
  /** Milliseconds since the epoch. */
  readonly receivedAt: number
  /** UUIDv7 of the request. */
  readonly id: string
  readonly journal: IntakeJournal
}

/** The journal of a request. It writes entries only in `commit`. */
export interface IntakeJournal {
  /** Creates an undecided, verified entry of this pipeline. The text is its preview. */
  draft(id: string, text: string): JournalEntry
  accept(entry: JournalEntry): void
  /**
   * Rejects an entry for a cause. `folded` counts it in the shared entry of the minute. Rejections over the cap are also folded.
   * Returns true if the rejection has an entry of its own.
   */
  reject(entry: JournalEntry, cause: string, error: AppError, options?: { folded?: boolean }): boolean
  /** Commits the entries and the staged writes atomically. After `aborted`, call it again with fresh work. */
  commit(work: UnitOfWork): Promise<void>
}

/** A journalled event for a replay by its intake. */
export interface ReplayArgs {
  readonly pipeline: StoredPipeline
  /** The verified entry of this pipeline to replay. */
  readonly entry: JournalEntry
  readonly caller: Pick<Caller, "log">
  /** A fresh entry with a reference to the first entry. */
  readonly draft: JournalEntry
  readonly journal: IntakeJournal
}

/** Processes the events of pipelines of a purpose, for example batches with many rows. */
export interface Intake {
  /** Throws AppError to reject the whole request. */
  take(arrival: Arrival): Promise<Reply>
  /** Replays a journalled event. */
  replay(args: ReplayArgs): Promise<EventResult>
}

/** Registry of intakes by purpose. */
export interface Intakes {
  /** Call this while services are created. A purpose has one intake. */
  use(purpose: PipelineDocument["purpose"], intake: Intake): void
  of(purpose: PipelineDocument["purpose"]): Intake | undefined
}

export const Intakes = token<Intakes>("Intakes")

export function createIntakes(): Intakes {
  const intakes = new Map<string, Intake>()
  return {
    use(purpose, intake) {
      if (intakes.has(purpose)) throw new Error(`Two plugins take over the events of ${purpose} pipelines; load one of them.`)
      intakes.set(purpose, intake)
    },
    of: (purpose) => intakes.get(purpose),
  }
}
