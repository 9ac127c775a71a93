// Groups the calls of a lane by pipeline, and selects the next group for the run child. Organizations take turns, then their
// pipelines. A strained pipeline waits until its previous group returns.
import type { Clock } from "../../kernel/clock.ts"
import { FairScheduler, type Share, type Turn } from "../../kernel/fair-scheduler.ts"
import { type Job, unavailable } from "./job.ts"
import type { Offenders } from "./offenders.ts"

/** Calls that run together. */
export interface Group {
  readonly id: number
  readonly turn: Turn<Job>
  readonly jobs: Job[]
  /** True if the pipeline recently delayed or crashed others. */
  readonly strained: boolean
}

const maxInGroup = 64
/** Maximum characters of bodies and contexts in a group. */
const maxGroupLength = 262_144
/** With this many waiting calls, a group leaves immediately. */
const largeGroup = 32
const maxGroupsOut = 8
/** Groups reserved for organizations with no group in flight. */
const reservedGroups = 2
/** Maximum groups in flight per pipeline: a running group and a following large group. A group costs more than its events. */
const maxOutPerPipeline = 2
const maxWaiting = 20_000
const maxWaitingPerOrganization = 10_000
const maxWaitMs = 10_000
/**
 * An organization has a single group in flight until a group returns within this time. A slower group restores the limit. Others
 * thus wait for one group of it rather than six, from its first event on.
 */
const quickGroupMs = 10
const maxQuick = 10_000

export class CallGroups {
  readonly #clock: Clock
  readonly #offenders: Offenders
  readonly #waiting: FairScheduler<Job>
  /** In order of sending, which is also the order of execution. */
  readonly #out = new Map<number, Group>()
  /** Organizations with a quick last group. */
  readonly #quick = new Set<string>()
  #strainedOut = 0
  #answeredAt = 0
  #lastId = 0

  constructor(clock: Clock, offenders: Offenders) {
    this.#clock = clock
    this.#offenders = offenders
    this.#waiting = new FairScheduler({
      slots: maxGroupsOut,
      reservedSlots: reservedGroups,
      maxWaiting,
      maxWaitingPerOrganization,
      refuse: (job, bound) =>
        job.resolve(unavailable(`Too many events${bound === "organization" ? " of this organization" : ""} are waiting for the sandbox.`)),
    })
  }

  /** Number of waiting calls. */
  get waiting(): number {
    return this.#waiting.waiting
  }

  /** Groups in flight, oldest first. */
  get out(): Group[] {
    return [...this.#out.values()]
  }

  get isNoneOut(): boolean {
    return this.#out.size === 0
  }

  /** True if a large group waits and no group is in flight. The child can then start while this process still reads. */
  get isLargeFirst(): boolean {
    return this.#out.size === 0 && this.#waiting.waiting >= largeGroup
  }

  shares(): Share[] {
    return this.#waiting.shares()
  }

  add(job: Job): void {
    this.#waiting.add(job.call.organization, job.key, job)
  }

  putBack({ turn: { organization, key } }: Group, jobs: readonly Job[]): void {
    this.#waiting.putBack(organization, key, jobs)
  }

  /** Takes the next group. It is in flight until `close`. Refuses calls that waited too long. */
  next(): Group | undefined {
    const oldest = this.#clock.monotonic() - maxWaitMs
    for (let turn = this.#waiting.next(this.#size); turn; turn = this.#waiting.next(this.#size)) {
      const { items } = turn
      const jobs = items[0] && items[0].queuedAt < oldest ? items.filter((job) => isFresh(job, oldest)) : items
      if (jobs.length > 0) return this.#takenOut(turn, jobs)
      turn.done()
    }
    return undefined
  }

  /** Closes and returns an answered group. Returns undefined if the group is not in flight. */
  answered(id: number): Group | undefined {
    const group = this.#out.get(id)
    if (!group) return undefined
    this.close(group)
    this.#measure(group.turn.organization)
    return group
  }

  close(group: Group): void {
    this.#out.delete(group.id)
    group.turn.done()
    if (group.strained) this.#strainedOut--
  }

  /** Answers all waiting calls with `unavailable`. */
  refuseWaiting(message: string): void {
    for (const job of this.#waiting.clear()) job.resolve(unavailable(message))
  }

  /** Answers all calls in flight with `unavailable`. */
  refuseOut(message: string): void {
    for (const group of this.#out.values()) for (const job of group.jobs) job.resolve(unavailable(message))
    this.#out.clear()
  }

  #takenOut(turn: Turn<Job>, jobs: Job[]): Group {
    this.#lastId = (this.#lastId % 0x3fffffff) + 1
    const group = { id: this.#lastId, turn, jobs, strained: this.#offenders.isStrained(turn.key) }
    if (this.#out.size === 0) this.#answeredAt = performance.now()
    this.#out.set(group.id, group)
    if (group.strained) this.#strainedOut++
    return group
  }

  /** Returns the size of a pipeline's next group, or 0 if the pipeline must wait for a group in flight. */
  readonly #size = (waiting: readonly Job[], organization: string, key: string): number => {
    if (this.#strainedOut > 0 && this.#offenders.isStrained(key)) return 0
    if (!this.#quick.has(organization) && this.#countOut((turn) => turn.organization === organization) > 0) return 0
    const out = this.#countOut((turn) => turn.key === key)
    if (out >= maxOutPerPipeline || (out > 0 && waiting.length < largeGroup)) return 0
    return sizeOf(waiting)
  }

  #countOut(counts: (turn: Turn<Job>) => boolean): number {
    let count = 0
    for (const { turn } of this.#out.values()) if (counts(turn)) count++
    return count
  }

  /** Groups run one after another, so a group's time starts at the previous answer. */
  #measure(organization: string): void {
    const now = performance.now()
    if (now - this.#answeredAt > quickGroupMs) this.#quick.delete(organization)
    else this.#quick.add(organization)
    this.#answeredAt = now
    if (this.#quick.size <= maxQuick) return
    // An active organization returns to the set with its next group.
    for (const oldest of this.#quick) {
      this.#quick.delete(oldest)
      return
    }
  }
}

/**
 * Returns how many waiting calls form the next group, oldest first. They have the same program and fit the limits. A call marked
 * `alone` is a group by itself.
 */
function sizeOf(waiting: readonly Job[]): number {
  const [first] = waiting
  if (!first) return 0
  let length = 0
  let count = 0
  for (const job of waiting) {
    length += job.call.body.length + job.call.context.length
    const fits = count === 0 || (count < maxInGroup && length <= maxGroupLength && !job.alone && !first.alone)
    if (!fits || job.call.program.digest !== first.call.program.digest) break
    if (job.call.script?.deadlineMs !== first.call.script?.deadlineMs) break
    count++
  }
  return count
}

/** Refuses a call that waited too long. */
function isFresh(job: Job, oldest: number): boolean {
  if (job.queuedAt >= oldest) return true
  job.resolve(unavailable(`The event waited for the sandbox for more than ${maxWaitMs / 1_000} s.`))
  return false
}
