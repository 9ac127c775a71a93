// Rows that name a person, from where they are written to the job that makes leads of them. An event pays for one look at
// its columns; what is gathered in a moment becomes one job an organization. What a kill takes out of memory is found again
// by the catch-up, as far as it made rows.
import type { Clock, JobQueue, Logger, UnitsOfWork } from "#core"
import type { FollowedRow } from "../../datasets/index.ts"
import { mayNamePerson } from "../identity.ts"
import { followRef, type RowRef } from "./job-refs.ts"

const gatherMs = 250
/** Rows that wait in memory; further ones are left to the catch-up. */
const maxWaiting = 20_000
const maxPerJob = 500

export interface RowBufferDeps {
  readonly clock: Clock
  readonly works: UnitsOfWork
  readonly queue: JobQueue
  readonly log: Logger
}

export class RowBuffer {
  readonly #deps: RowBufferDeps
  readonly #waiting = new Map<string, RowRef[]>()
  #count = 0
  #isGathering = false
  #flushed: Promise<void> = Promise.resolve()

  constructor(deps: RowBufferDeps) {
    this.#deps = deps
  }

  add({ organization, dataset, row_id, values, origin }: FollowedRow): void {
    if (this.#count >= maxWaiting || !mayNamePerson(values)) return
    const rows = this.#waiting.get(organization) ?? []
    this.#waiting.set(organization, rows)
    rows.push({ dataset, row_id, execution_id: origin.executionId, at: origin.receivedAt, pipeline: origin.pipeline })
    this.#count++
    if (this.#isGathering) return
    this.#isGathering = true
    this.#deps.clock.after(gatherMs, () => void this.flush())
  }

  /** Hands over what was gathered. Never rejects. */
  flush(): Promise<void> {
    this.#isGathering = false
    const gathered = [...this.#waiting].flatMap(([organization, rows]) => chunksOf(rows).map((chunk) => ({ organization, rows: chunk })))
    this.#waiting.clear()
    this.#count = 0
    if (gathered.length > 0) this.#flushed = this.#flushed.then(() => this.#enqueue(gathered))
    return this.#flushed
  }

  async #enqueue(gathered: readonly { organization: string; rows: RowRef[] }[]): Promise<void> {
    const { works, queue, log } = this.#deps
    try {
      await works.run((work) => {
        for (const { organization, rows } of gathered)
          queue.enqueue(work, followRef, { organization, rows, again: false }, { organization })
      })
    } catch (error) {
      log.warn({ err: error }, "rows could not be handed to the leads; the catch-up finds them")
    }
  }
}

function chunksOf(rows: readonly RowRef[]): RowRef[][] {
  return Array.from({ length: Math.ceil(rows.length / maxPerJob) }, (_, n) => rows.slice(n * maxPerJob, (n + 1) * maxPerJob))
}
