// Rows that name a person, from where they are written to the job that makes leads of them. An event pays for one look at
// its columns; what is gathered in a moment becomes one job an organization. What a kill takes out of memory is found again
// by the catch-up, as far as it made rows.
import { type Clock, type JobQueue, type Logger, type Store, throwUncaught, token, type UnitsOfWork } from "#core"
import { JobCollection } from "#core/engine"
import type { FollowedRow } from "../../datasets/index.ts"
import { mayNamePerson } from "../identity.ts"
import type { Follower } from "./follower.ts"
import { followRef, type RowRef } from "./job-refs.ts"

const gatherMs = 250
/** Rows that wait in memory; further ones are left to the catch-up. */
const maxWaiting = 20_000
const maxPerJob = 500
/** Jobs whose rows a caller waits for. */
const maxSettled = 200

export interface RowBufferDeps {
  readonly clock: Clock
  readonly works: UnitsOfWork
  readonly queue: JobQueue
  readonly log: Logger
  readonly store: Store
  readonly follower: Follower
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
    const { executionId: execution_id, receivedAt: at, pipeline } = origin
    rows.push({ dataset, row_id, execution_id, at, ...(pipeline === undefined ? {} : { pipeline }) })
    this.#count++
    if (this.#isGathering) return
    this.#isGathering = true
    this.#deps.clock.after(gatherMs, () => {
      this.flush().catch(throwUncaught)
    })
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

  /** Makes leads of what this node has gathered of an organization, and of what waits in jobs, for a caller that must know all rows of a person now. The jobs find it done. */
  async settle(organization: string): Promise<void> {
    const { store, follower } = this.#deps
    await this.flush()
    const jobs = store.open(JobCollection).stream({ organization, type: followRef.type, state: "queued" }, { limit: maxSettled })
    for await (const { payload } of jobs) await follower.follow(organization, followRef.payload.parse(payload).rows)
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

export const LeadRowsToken = token<RowBuffer>("LeadRows")
