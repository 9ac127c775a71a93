// The scheduler: a document for each schedule, and a timer for the earliest. A run is one commit. It makes the job and advances
// the schedule, if the schedule still has the time read before. Only one node succeeds. Runs missed while all nodes were down
// become one late job, since the next time is calculated from now.
import type { z } from "zod"
import { maxSkewMs } from "../contract/cluster.ts"
import { type Document, defineCollection, type Json } from "../contract/collection.ts"
import type { AnyJob, JobQueue, JobRef } from "../contract/job.ts"
import type { Pauses } from "../contract/pauses.ts"
import type { AnySchedule, ScheduledJob, Scheduler, Timing } from "../contract/schedule.ts"
import type { Store } from "../contract/store.ts"
import { StagedWork, type UnitOfWork } from "../contract/unit-of-work.ts"
import { type Clock, timestamp } from "../kernel/clock.ts"
import { AppError } from "../kernel/errors.ts"
import { derivedUuid, type Ids } from "../kernel/ids.ts"
import type { Logger } from "../kernel/log.ts"
import { followingTime, nextTime } from "./cron.ts"
import { withoutOrganization } from "./gated-job.ts"
import { JobCollection } from "./jobs-collection.ts"

/** `id` consists of the job's type and the schedule's own id. */
export interface ScheduleDocument extends Document {
  type: string
  payload: Json
  organization: string | null
  cron: string
  timezone: string
  next_at: string
  declared: boolean
}

export const ScheduleCollection = defineCollection<ScheduleDocument>()({
  name: "schedules",
  scope: "global",
  times: ["next_at"],
  indexes: [{ fields: ["next_at"] }],
})

export interface SchedulerArgs {
  readonly store: Store
  readonly queue: JobQueue
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Logger
  readonly jobs: ReadonlyMap<string, AnyJob>
  readonly declared: readonly AnySchedule[]
  /** A schedule of a paused organization makes a single late job. */
  readonly pauses: Pauses
}

/** Maximum time until a schedule of a dead node is found. */
const maxSleepMs = 30_000
const retryMs = 1_000
const maxDueAtOnce = 100

export class DurableScheduler implements Scheduler {
  readonly #args: SchedulerArgs
  #cancel: () => void = () => {}
  /** Monotonic time of the timer. */
  #wakesAt = Number.POSITIVE_INFINITY
  #looking: Promise<void> = Promise.resolve()
  #stopped = true

  constructor(args: SchedulerArgs) {
    this.#args = args
  }

  next(timing: Timing, after = new Date(this.#args.clock.now())): Date {
    return nextTime(timing, after)
  }

  set<P extends z.ZodType>(work: UnitOfWork, schedule: ScheduledJob<P>): Date {
    const next = this.next(schedule)
    const { id, organization_id: _, ...fields } = this.#documentOf(schedule, schedule.id, next)
    work.in(ScheduleCollection).update(id, { $set: fields }, { upsert: true })
    work.afterCommit(() => this.#wakeBy(next.getTime()))
    return next
  }

  remove(work: UnitOfWork, { type }: Pick<JobRef<z.ZodType>, "type">, id: string): void {
    work.in(ScheduleCollection).remove(idOf(type, id), { optional: true })
  }

  /** Updates the declared schedules and runs due schedules. */
  async start(): Promise<void> {
    this.#stopped = false
    await this.#keepDeclared()
    this.#wakeIn(0)
  }

  /** Corrects schedules moved too far by a clock that was ahead. Returns their number. */
  async correct(now: number): Promise<number> {
    const { store, ids } = this.#args
    const work = new StagedWork(ids.uuid())
    const late = { next_at: { $gt: timestamp(now + maxSkewMs) } }
    for await (const schedule of store.open(ScheduleCollection).stream(late, { sort: { next_at: 1 } })) {
      const { id, next_at } = schedule
      // A correct clock sets no later time.
      const latest = followingTime(schedule, new Date(now + maxSkewMs))
      const next = followingTime(schedule, new Date(now))
      if (!latest || !next || Date.parse(next_at) <= latest.getTime()) continue
      work.in(ScheduleCollection).update(id, { $set: { next_at: timestamp(next.getTime()) } }, { where: { next_at }, optional: true })
    }
    if (work.writes.length > 0) await work.commitTo(store)
    this.#wakeIn(0)
    return work.writes.length
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancel()
    await this.#looking
  }

  #documentOf(
    { job, payload, organization, cron, timezone = "UTC" }: Omit<ScheduledJob<z.ZodType>, "id">,
    id: string,
    next: Date,
    declared = false,
  ): ScheduleDocument {
    if (organization === undefined && this.#args.jobs.get(job.type)?.gate) throw new Error(withoutOrganization(job.type))
    const [type, next_at] = [job.type, timestamp(next.getTime())]
    return { id: idOf(type, id), type, payload: payload as Json, organization: organization ?? null, cron, timezone, next_at, declared }
  }

  /** An unchanged schedule keeps its time, even if it passed while the service was down. */
  async #keepDeclared(): Promise<void> {
    const { store, ids, declared } = this.#args
    const stored = new Map((await store.open(ScheduleCollection).find({ declared: true })).map((one) => [one.id, one]))
    const work = new StagedWork(ids.uuid())
    const schedules = work.in(ScheduleCollection)
    for (const schedule of declared) {
      const document = this.#documentOf(schedule, schedule.name, this.next(schedule), true)
      const before = stored.get(document.id)
      stored.delete(document.id)
      if (!before) schedules.insert(document, { ifPresent: "keep" })
      else if (changed(before, document)) {
        const { id, organization_id: _, ...fields } = document
        schedules.update(id, { $set: fields }, { upsert: true })
      }
    }
    for (const gone of stored.keys()) schedules.remove(gone, { optional: true })
    if (work.writes.length > 0) await work.commitTo(store)
  }

  /** Wakes at a wall time or earlier. */
  #wakeBy(time: number): void {
    this.#wakeIn(Math.max(0, time - this.#args.clock.now()))
  }

  #wakeIn(milliseconds: number): void {
    if (this.#stopped) return
    const { clock } = this.#args
    const wait = Math.min(milliseconds, maxSleepMs)
    const due = clock.monotonic() + wait
    if (due >= this.#wakesAt) return
    this.#cancel()
    this.#wakesAt = due
    this.#cancel = clock.after(wait, () => {
      this.#wakesAt = Number.POSITIVE_INFINITY
      this.#looking = this.#looking.then(() => this.#look())
    })
  }

  async #look(): Promise<void> {
    if (this.#stopped) return
    const { store, clock, log } = this.#args
    const schedules = store.open(ScheduleCollection)
    try {
      const due = await schedules.find({ next_at: { $lte: timestamp(clock.now()) } }, { sort: { next_at: 1 }, limit: maxDueAtOnce })
      let failed = false
      for (const schedule of due) failed = !(await this.#fired(schedule)) || failed
      const earliest = await schedules.first({}, { sort: { next_at: 1 } })
      // A failing schedule remains the earliest, so its retry needs a pause.
      if (earliest && !failed) this.#wakeBy(Date.parse(earliest.next_at))
      this.#wakeIn(failed ? retryMs : maxSleepMs)
    } catch (error) {
      log.warn({ err: error }, "schedules could not be read; retrying")
      this.#wakeIn(retryMs)
    }
  }

  /** Never rejects: a failure does not affect other schedules. */
  async #fired(schedule: ScheduleDocument): Promise<boolean> {
    try {
      await this.#fire(schedule)
      return true
    } catch (error) {
      this.#args.log.error({ err: error, schedule: schedule.id }, "a scheduled job could not be created; retrying")
      return false
    }
  }

  async #fire(schedule: ScheduleDocument): Promise<void> {
    const { store, queue, clock, ids, jobs, log } = this.#args
    const { id, type, payload, organization, next_at } = schedule
    const work = new StagedWork(ids.uuid())
    const next = followingTime(schedule, new Date(clock.now()))
    const schedules = work.in(ScheduleCollection)
    if (next) schedules.update(id, { $set: { next_at: timestamp(next.getTime()) } }, { where: { next_at } })
    else schedules.remove(id, { where: { next_at } })
    const job = jobs.get(type)
    const isPaused = this.#args.pauses.has(organization)
    const jobId = derivedUuid(id, isPaused ? "paused" : next_at)
    // One late job is enough.
    const waits = isPaused && (await store.open(JobCollection).get(jobId)) !== undefined
    if (waits) log.debug({ schedule: id }, "a schedule of a paused organization has its late job")
    else if (job) queue.enqueue(work, job, payload, { id: jobId, ...(organization === null ? {} : { organization }) })
    else log.warn({ schedule: id, job: type }, "a scheduled job is not declared by any plugin; this run is left out")
    try {
      await work.commitTo(store)
    } catch (error) {
      // Another node has made this run, or the schedule is gone.
      if (!(error instanceof AppError && (error.code === "aborted" || error.code === "not_found"))) throw error
    }
  }
}

function idOf(type: string, id: string): string {
  return `${type}:${id}`
}

function changed(before: ScheduleDocument, { cron, timezone, payload }: ScheduleDocument): boolean {
  return before.cron !== cron || before.timezone !== timezone || JSON.stringify(before.payload) !== JSON.stringify(payload)
}
