// The port for pipelines that a plugin runs itself, chosen by purpose: the engine still finds the pipeline, verifies the
// request, stamps it, and keeps the journal; what one request means (many events, say) is the plugin's to decide.
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

/** A verified request at the endpoint of a pipeline that an intake has taken over. */
export interface Arrival {
  readonly pipeline: StoredPipeline
  /** The body, parsed: JSON, or a form's fields. */
  readonly body: Json
  readonly headers: InboundRequest["headers"]
  /** Where the request comes from, as far as proxies are trusted. */
  readonly address: string
  readonly stamp: RequestStamp
  /** Tagged as test traffic by its header; the body may say so as well. */
  readonly isTest: boolean
  /** Milliseconds since the epoch. */
  readonly receivedAt: number
  /** UUIDv7 of the request. */
  readonly id: string
  readonly journal: IntakeJournal
}

/** The journal of one request; nothing is written before `commit`. */
export interface IntakeJournal {
  /** An entry of this pipeline with nothing decided yet; verified, with the text as its preview. */
  draft(id: string, text: string): JournalEntry
  accept(entry: JournalEntry): void
  /** Rejected for a cause; `folded` counts it in the minute's one entry, and so do rejections beyond their cap. Returns whether it has an entry of its own. */
  reject(entry: JournalEntry, cause: string, error: AppError, options?: { folded?: boolean }): boolean
  /** Entries and what was staged, all or nothing; may be called again with fresh work when it was `aborted`. */
  commit(work: UnitOfWork): Promise<void>
}

/** A journalled event that is to be run again by the intake that took it. */
export interface ReplayArgs {
  readonly pipeline: StoredPipeline
  /** The entry that is run again: verified, and of this pipeline. */
  readonly entry: JournalEntry
  readonly caller: Pick<Caller, "log">
  /** A fresh entry that names the first. */
  readonly draft: JournalEntry
  readonly journal: IntakeJournal
}

/** Takes over the events of pipelines of one purpose: batches, say, that become many rows. */
export interface Intake {
  /** Throws AppError to reject the request as a whole. */
  take(arrival: Arrival): Promise<Reply>
  /** Runs one journalled event again. */
  replay(args: ReplayArgs): Promise<EventResult>
}

/** Where a plugin offers to take over the events of a purpose. */
export interface Intakes {
  /** To be called while services are created; one intake a purpose. */
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
