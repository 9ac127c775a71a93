// Buffers rows about people, and passes them to the job that creates leads. The cost per event is a check of the columns. Rows
// gathered within 250 ms become a job per organization. The same commit stores the progress of the process. After a kill, the
// lost rows are read from the journal. Rows from a call are not in the journal: their job is in the commit of the rows.
import { Clock, type Deps, Ids, JobQueue, Log, Store, throwUncaught, timestamp, type UnitOfWork, UnitsOfWork } from "#core"
import { JobCollection } from "#core/engine"
import type { FollowedRow } from "../../../data/datasets/index.ts"
import { mayNamePerson } from "../identity.ts"
import { Follower } from "./follower.ts"
import { beatMs, catchUpRef, followRef, HandoverCollection, type RowRef } from "./handovers.ts"
import { JournalRows } from "./journal.ts"

const gatherMs = 250
/** Rows waiting in memory. Further rows are read from the journal. */
const maxWaiting = 20_000
const maxPerJob = 500
/** Jobs processed for a waiting caller. */
const maxSettled = 200

export class RowBuffer {
  static readonly inject = {
    clock: Clock,
    ids: Ids,
    works: UnitsOfWork,
    queue: JobQueue,
    log: Log,
    store: Store,
    follower: Follower,
    journal: JournalRows,
  }
  readonly process: string
  readonly #deps: Deps<typeof RowBuffer.inject>
  readonly #waiting = new Map<string, RowRef[]>()
  /** Rows of calls, by the unit of work with the rows. */
  readonly #staged = new WeakMap<UnitOfWork, RowRef[]>()
  readonly #stopping = new AbortController()
  #count = 0
  #isGathering = false
  #flushed: Promise<void> = Promise.resolve()
  /** Start time of the events to read from the journal. Set after a gap. */
  #gapFrom: number | undefined
  #cancel: () => void = () => {}

  constructor(deps: Deps<typeof RowBuffer.inject>) {
    this.#deps = deps
    this.process = deps.ids.uuid()
  }

  add({ organization, dataset, row_id, values, origin, work }: FollowedRow): void {
    if (!mayNamePerson(values)) return
    const { executionId: execution_id, receivedAt: at, pipeline } = origin
    const ref: RowRef = { dataset, row_id, execution_id, at, ...(pipeline === undefined ? {} : { pipeline }) }
    if (pipeline === undefined) this.#stage(work, organization, ref)
    else if (this.#count >= maxWaiting) this.#leave(at, "more rows wait for the leads than memory is for; they are read from the journal")
    else this.#gather(organization, ref)
  }

  #gather(organization: string, ref: RowRef): void {
    const rows = this.#waiting.get(organization) ?? []
    this.#waiting.set(organization, rows)
    rows.push(ref)
    this.#count++
    if (this.#isGathering) return
    this.#isGathering = true
    this.#deps.clock.after(gatherMs, () => {
      this.flush().catch(throwUncaught)
    })
  }

  /** Enqueues a catch-up for rows of earlier processes, and starts to report the progress of this process. */
  async start(): Promise<void> {
    const { works, queue, store } = this.#deps
    const hasOthers = (await store.open(HandoverCollection).first({ id: { $ne: this.process } })) !== undefined
    await works.run((work) => {
      this.#sayThrough(work, this.#deps.clock.now())
      if (hasOthers) queue.enqueue(work, catchUpRef, {})
    })
    this.#beatLater()
  }

  async stop(): Promise<void> {
    this.#cancel()
    this.#stopping.abort()
    await this.flush()
    if (this.#gapFrom === undefined)
      await this.#deps.works.run((work) => work.in(HandoverCollection).remove(this.process, { optional: true }))
  }

  /** Enqueues jobs for the gathered rows. Never rejects. */
  flush(): Promise<void> {
    this.#isGathering = false
    const gathered = [...this.#waiting].flatMap(([organization, rows]) => chunksOf(rows).map((chunk) => ({ organization, rows: chunk })))
    const through = this.#deps.clock.now()
    this.#waiting.clear()
    this.#count = 0
    if (gathered.length > 0) this.#flushed = this.#flushed.then(() => this.#enqueue(gathered, through))
    return this.#flushed
  }

  /**
   * Creates leads from gathered rows and queued jobs of an organization. Used if a caller needs all rows of a person now. The
   * jobs later skip these rows.
   */
  async settle(organization: string): Promise<void> {
    const { store, follower } = this.#deps
    await this.flush()
    await this.#closeGap()
    const jobs = store.open(JobCollection).stream({ organization, type: followRef.type, state: "queued" }, { limit: maxSettled })
    for await (const { payload } of jobs) await follower.follow(organization, followRef.payload.parse(payload).rows)
  }

  #stage(work: UnitOfWork, organization: string, ref: RowRef): void {
    const staged = this.#staged.get(work)
    if (staged && staged.length < maxPerJob) return void staged.push(ref)
    const rows = [ref]
    this.#staged.set(work, rows)
    this.#deps.queue.enqueue(work, followRef, { organization, rows, again: false }, { organization })
  }

  async #enqueue(gathered: readonly { organization: string; rows: RowRef[] }[], through: number): Promise<void> {
    const { works, queue } = this.#deps
    try {
      await works.run((work) => {
        for (const { organization, rows } of gathered)
          queue.enqueue(work, followRef, { organization, rows, again: false }, { organization })
        this.#sayThrough(work, through)
      })
    } catch (error) {
      const [first = timestamp(through)] = gathered.flatMap(({ rows }) => rows.map(({ at }) => at)).sort()
      this.#leave(first, "rows could not be handed to the leads; they are read from the journal", error)
    }
  }

  #sayThrough(work: UnitOfWork, through: number): void {
    const beat_at = timestamp(this.#deps.clock.now())
    const $set = { through: timestamp(Math.min(through, this.#gapFrom ?? through)), beat_at }
    work.in(HandoverCollection).update(this.process, { $set }, { upsert: true })
  }

  #leave(at: string, what: string, err?: unknown): void {
    if (this.#gapFrom === undefined) this.#deps.log.warn({ since: at, ...(err === undefined ? {} : { err }) }, what)
    this.#gapFrom = Math.min(Date.parse(at), this.#gapFrom ?? Number.POSITIVE_INFINITY)
  }

  async #closeGap(): Promise<void> {
    const from = this.#gapFrom
    if (from === undefined) return
    this.#gapFrom = undefined
    try {
      const rows = await this.#deps.journal.since(from, this.#stopping.signal)
      this.#deps.log.info({ rows }, "read the rows that were not handed over again for leads")
    } catch (error) {
      this.#gapFrom = Math.min(from, this.#gapFrom ?? from)
      throw error
    }
  }

  #beatLater(): void {
    this.#cancel = this.#deps.clock.after(beatMs, () => {
      this.#beat()
        .catch((error: unknown) => this.#deps.log.warn({ err: error }, "leads are behind; the next round follows in a minute"))
        .finally(() => {
          if (!this.#stopping.signal.aborted) this.#beatLater()
        })
    })
  }

  async #beat(): Promise<void> {
    await this.flush()
    await this.#closeGap()
    // Rows gathered meanwhile have no job yet.
    const through = this.#count === 0 ? this.#deps.clock.now() : undefined
    await this.#deps.works.run((work) => {
      if (through !== undefined) this.#sayThrough(work, through)
    })
  }
}

function chunksOf(rows: readonly RowRef[]): RowRef[][] {
  return Array.from({ length: Math.ceil(rows.length / maxPerJob) }, (_, n) => rows.slice(n * maxPerJob, (n + 1) * maxPerJob))
}
