// The calls of a lane, in groups of one pipeline each: which calls go to the run child together, and which group is next.
// Organizations take turns, then their pipelines; what costs others time waits for its group that is out.
import type { Clock } from "../../kernel/clock.ts"
import { FairScheduler, type Share, type Turn } from "../../kernel/fair-scheduler.ts"
import { type Job, unavailable } from "./job.ts"
import type { Offenders } from "./offenders.ts"

/** Calls that run together. */
export interface Group {
  readonly id: number
  readonly turn: Turn<Job>
  readonly jobs: Job[]
  /** Of a pipeline that has cost others something lately. */
  readonly strained: boolean
}

const maxInGroup = 64
/** Characters of bodies and contexts. */
const maxGroupLength = 262_144
/** So many waiting calls are worth a group at once. */
const largeGroup = 32
const maxGroupsOut = 8
/** Of these, kept for organizations that have none out. */
const reservedGroups = 2
/** Groups of one pipeline: one in hand, and a large one to go on with. A group costs more than its events do. */
const maxOutPerPipeline = 2
const maxWaiting = 20_000
const maxWaitingPerOrganization = 10_000
const maxWaitMs = 10_000
/**
 * An organization has one group out at a time until one has come back as quickly, and again once one took longer: others
 * wait for one of its groups, not six, from its first event on.
 */
const quickGroupMs = 10
const maxQuick = 10_000

export class CallGroups {
  readonly #clock: Clock
  readonly #offenders: Offenders
  readonly #waiting: FairScheduler<Job>
  /** In the order in which they left, which is the order in which they run. */
  readonly #out = new Map<number, Group>()
  /** Organizations whose last group was quick. */
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

  /** Calls that wait. */
  get waiting(): number {
    return this.#waiting.waiting
  }

  /** Groups that were taken and have not come back, oldest first. */
  get out(): Group[] {
    return [...this.#out.values()]
  }

  get isNoneOut(): boolean {
    return this.#out.size === 0
  }

  /** Whether a large group waits and none is out, so that the child may begin while this process still reads. */
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

  /** Takes the next group; it is out until `close`. Refuses calls that have waited too long. */
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

  /** The group that has come back, closed; undefined where it is not out. */
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

  /** Answers all that waits as unavailable. */
  refuseWaiting(message: string): void {
    for (const job of this.#waiting.clear()) job.resolve(unavailable(message))
  }

  /** The same for what is out. */
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

  /** The size of a pipeline's next group; 0 where it waits for one that is out. */
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

  /** Groups run one after the other, so that a group's time begins with the answer before it. */
  #measure(organization: string): void {
    const now = performance.now()
    if (now - this.#answeredAt > quickGroupMs) this.#quick.delete(organization)
    else this.#quick.add(organization)
    this.#answeredAt = now
    if (this.#quick.size <= maxQuick) return
    // One that is still at work is back with its next group.
    for (const oldest of this.#quick) {
      this.#quick.delete(oldest)
      return
    }
  }
}

/** How many of the calls that wait, oldest first, make a group: of one program, few and short enough, and one that is to run alone by itself. */
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

/** One that has waited too long is refused. */
function isFresh(job: Job, oldest: number): boolean {
  if (job.queuedAt >= oldest) return true
  job.resolve(unavailable(`The event waited for the sandbox for more than ${maxWaitMs / 1_000} s.`))
  return false
}
