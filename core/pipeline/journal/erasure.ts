// Erases event data in journal entries after the retention of payloads. One node runs short turns with a batch per pipeline. A
// mark per pipeline stores the progress, in the same commit as the erasure.

import type { Leases } from "../../contract/cluster.ts"
import { type Document, defineCollection } from "../../contract/collection.ts"
import type { Store } from "../../contract/store.ts"
import { StagedWork, type UnitOfWork } from "../../contract/unit-of-work.ts"
import { type Clock, timestamp } from "../../kernel/clock.ts"
import { AppError } from "../../kernel/errors.ts"
import type { Ids } from "../../kernel/ids.ts"
import type { Logger } from "../../kernel/log.ts"
import type { PipelineRef } from "../source.ts"
import { EntryCollection, PayloadCollection } from "./collections.ts"
import { holdsPayload } from "./kept.ts"

/** The last processed entry of a pipeline in order of receipt. `id` is the pipeline's id. */
interface ErasureMark extends Document {
  received_at: string
  execution_id: string
}

export const ErasureMarkCollection = defineCollection<ErasureMark>()({
  name: "payload_erasure_marks",
  scope: "organization",
  times: ["received_at"],
  indexes: [],
})

export interface ErasureArgs {
  readonly store: Store
  readonly leases: Leases
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Logger
  /** `retention.payloads_days`. */
  readonly days: number
  readonly pipelines: () => AsyncIterable<PipelineRef>
  /** Stages deletion of a failed execution's remaining deferred work, because it also contains the event. */
  readonly discardWork: (work: UnitOfWork, executionId: string) => void
}

const dayMs = 86_400_000
const firstAfterMs = 30_000
/** Milliseconds between two passes over all pipelines. */
const everyMs = 600_000
/** Milliseconds of a turn. A pause of the same length follows. */
const turnMs = 1_000
/** Bounds the wait of event commits to a few milliseconds of the writer. */
const entriesPerBatch = 100
const lease = { name: "payload-erasure", ms: 60_000 }

export class PayloadErasure {
  readonly #args: ErasureArgs
  /** Pipelines for the next turn. */
  #waiting: PipelineRef[] = []
  #cancel: () => void = () => undefined
  #turning: Promise<void> = Promise.resolve()
  #stopped = false

  constructor(args: ErasureArgs) {
    this.#args = args
  }

  start(): void {
    this.#next(firstAfterMs)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancel()
    await this.#turning
  }

  #next(afterMs: number): void {
    if (this.#stopped) return
    this.#cancel = this.#args.clock.after(afterMs, () => {
      this.#turning = this.turn().then(
        (pauseMs) => this.#next(pauseMs),
        (error: unknown) => {
          this.#args.log.warn({ err: error }, "expired payloads could not be erased from the journal; retrying")
          this.#next(everyMs)
        },
      )
    })
  }

  /** Erases for up to a second, or until all is erased. Returns the milliseconds until the next turn. */
  async turn(): Promise<number> {
    const { leases, clock, pipelines } = this.#args
    if (!(await leases.claim(lease.name, lease.ms))) {
      this.#waiting = []
      return everyMs
    }
    const began = clock.monotonic()
    if (this.#waiting.length === 0) for await (const pipeline of pipelines()) this.#waiting.push(pipeline)
    do {
      const behind: PipelineRef[] = []
      for (const pipeline of this.#waiting) {
        if (this.#stopped) return everyMs
        if (await this.#isBehind(pipeline)) behind.push(pipeline)
      }
      this.#waiting = behind
    } while (this.#waiting.length > 0 && clock.monotonic() - began < turnMs)
    return this.#waiting.length > 0 ? clock.monotonic() - began : everyMs
  }

  /** Erases a batch. Returns true if more entries may follow. A failure in a pipeline does not delay the others. */
  async #isBehind(pipeline: PipelineRef): Promise<boolean> {
    try {
      return await this.#erase(pipeline)
    } catch (error) {
      const code = error instanceof AppError ? error.code : "unknown"
      if (code === "unavailable" || code === "deadline_exceeded") throw error
      // Another node considered this node dead and moved the mark.
      if (code === "aborted" || code === "already_exists") return false
      this.#args.log.error({ err: error, pipeline: pipeline.id }, "expired payloads of a pipeline could not be erased from the journal")
      return false
    }
  }

  async #erase({ id, organization }: PipelineRef): Promise<boolean> {
    const { store, clock, ids, days, discardWork } = this.#args
    const now = clock.now()
    const stored = await store.open(ErasureMarkCollection, organization).get(id)
    // Ignores a mark in the future. It comes from a fast clock, and would skip entries received since.
    const mark = stored && Date.parse(stored.received_at) <= now ? stored : undefined
    const entries = await store
      .open(EntryCollection, organization)
      .find(
        { pipeline_id: id, received_at: { $lte: timestamp(now - days * dayMs) } },
        { sort: { received_at: 1 }, limit: entriesPerBatch, ...(mark && { after: [mark.received_at, mark.execution_id] }) },
      )
    const last = entries.at(-1)
    if (!last) return false
    const work = new StagedWork(ids.uuid())
    const [journal, payloads] = [work.in(EntryCollection, organization), work.in(PayloadCollection, organization)]
    for (const entry of entries) {
      if (!holdsPayload(entry)) continue
      if (entry.status === "failed") discardWork(work, entry.id)
      const answer = entry.response ? { $set: { "response.body": "" } } : {}
      const held = { payload_preview: true, transformed: true, logs: true, request: true } as const
      journal.update(entry.id, { $unset: held, ...answer }, { optional: true })
      // The payload still exists if payloads had a longer retention at its receipt.
      if (!entry.request) payloads.remove(entry.id, { optional: true })
    }
    const moved = { received_at: last.received_at, execution_id: last.id }
    const marks = work.in(ErasureMarkCollection, organization)
    if (!stored) marks.insert({ id, ...moved })
    else marks.update(id, { $set: moved }, { where: { received_at: stored.received_at, execution_id: stored.execution_id } })
    await work.commitTo(store)
    return entries.length === entriesPerBatch
  }
}
