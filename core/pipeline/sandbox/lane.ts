// One run child and the calls that wait for it: organizations take turns, then their pipelines. What arrives in one turn
// of the event loop, or while the child is busy, leaves as groups of one pipeline each. A lost child is replaced at once and
// its groups run again, without the one to blame; one that has grown too large is replaced between groups.
import type { Clock } from "../../kernel/clock.ts"
import type { CoreConfig } from "../../kernel/config.ts"
import { FairScheduler, type Share, type Turn } from "../../kernel/fair-scheduler.ts"
import type { Loss } from "./child-link.ts"
import { groupSize } from "./grouping.ts"
import { batchOf, failureFrom, fieldsOut, type Job, resultOf, unavailable } from "./job.ts"
import { type Offenders, smallStrike } from "./offenders.ts"
import { residentMb } from "./process-memory.ts"
import { RunChild } from "./run-child.ts"
import { unpack } from "./wire.ts"

export interface LaneOptions {
  /** Whether a child that may be lost soon has its successor started before. */
  readonly keepsSpare: boolean
  readonly config: CoreConfig["sandbox"]
  readonly clock: Clock
  readonly bundle: () => Promise<string>
  readonly offenders: Offenders
  /** A child took itself down over a group, and nobody knows over which of its events. */
  readonly onSuspects: (jobs: Job[]) => void
  /** An event cost a child. */
  readonly onCulprit: (job: Job, loss: Loss) => void
  readonly onMisstep: (job: Job, weight: number) => void
  readonly onStarted: (milliseconds: number, undenied: readonly string[]) => void
  readonly onLost: (loss: Loss) => void
  /** A child was replaced for the memory that it had come to hold. */
  readonly onRecycled: (megabytes: number) => void
  readonly onBatch: (events: number) => void
}

interface Group {
  readonly id: number
  readonly turn: Turn<Job>
  readonly jobs: Job[]
  readonly strained: boolean
}

/** As many waiting calls leave an idle lane before the turn of the event loop is over: the child begins while this process still reads. */
const earlyGroup = 32
const maxGroupsOut = 8
/** Of these, kept for organizations that have none out. */
const reservedGroups = 2
/** Groups of one pipeline: one in hand, and one of `earlyGroup` or more to go on with. A group costs more than its events do. */
const maxOutPerPipeline = 2
const maxWaiting = 20_000
const maxWaitingPerOrganization = 10_000
const maxWaitMs = 10_000
/** An organization whose last group took longer has one out at a time, so that others wait for one of its groups, not six. */
const slowGroupMs = 10
const maxSlow = 10_000
/** Groups between two looks at a child's memory. */
const memoryEvery = 200
const maxLosses = 2
const failedStarts = 3

export class Lane {
  readonly #options: LaneOptions
  readonly #waiting: FairScheduler<Job>
  /** Organizations whose last group was slow. */
  readonly #slow = new Set<string>()
  readonly #out = new Map<number, Group>()
  #child: RunChild | null = null
  #spare: RunChild | null = null
  #strainedOut = 0
  #answeredAt = 0
  #groupsSinceLook = 0
  /** Sends nothing more to this child, which is replaced once its groups have come back. */
  #replacing = false
  #nextId = 0
  #flushing = false
  #stopped = false
  #failedStarts = 0

  constructor(options: LaneOptions) {
    this.#options = options
    this.#waiting = new FairScheduler({
      slots: maxGroupsOut,
      reservedSlots: reservedGroups,
      maxWaiting,
      maxWaitingPerOrganization,
      refuse: (job, bound) =>
        job.resolve(unavailable(`Too many events${bound === "organization" ? " of this organization" : ""} are waiting for the sandbox.`)),
    })
  }

  /** Whether calls wait or run. */
  get busy(): boolean {
    return this.#waiting.waiting > 0 || this.#out.size > 0
  }

  shares(): Share[] {
    return this.#waiting.shares()
  }

  add(job: Job): void {
    this.#waiting.add(job.call.organization, job.key, job)
    if (this.#waiting.waiting >= earlyGroup && this.#out.size === 0) {
      this.#flush()
      return
    }
    if (this.#flushing) return
    this.#flushing = true
    setImmediate(() => this.#flush())
  }

  async start(): Promise<void> {
    await this.#ensureChild().ready
  }

  forget(pipelineId: string): void {
    this.#child?.forget(pipelineId)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    const message = "The sandbox is stopping."
    for (const group of this.#out.values()) for (const job of group.jobs) job.resolve(unavailable(message))
    this.#out.clear()
    for (const job of this.#waiting.clear()) job.resolve(unavailable(message))
    await Promise.all([this.#child?.stop(), this.#spare?.stop()])
  }

  #ensureChild(): RunChild {
    if (!this.#child) {
      this.#child = this.#spare ?? this.#newChild()
      this.#spare = null
      if (this.#child.isReady) setImmediate(() => this.#flush())
    }
    return this.#child
  }

  #newChild(): RunChild {
    const child: RunChild = new RunChild(this.#options.config, this.#options.clock, this.#options.bundle, {
      onFrame: (parts) => this.#onFrame(parts),
      onLost: (loss, wasReady) => (child === this.#child ? this.#onLost(loss, wasReady) : this.#onSpareLost(child)),
      onStarted: (milliseconds, undenied) => {
        this.#failedStarts = 0
        this.#options.onStarted(milliseconds, undenied)
        if (child === this.#child) this.#flush()
        else this.#replaceWhenDrained()
      },
      onSlow: () => {
        if (child === this.#child) this.#keepSpare()
      },
    })
    return child
  }

  /**
   * A child that is ready when the one at work is lost: its successor's start is what neighbours would wait for most. It
   * starts when the one at work may be lost soon, which is long before it is: what it has in hand takes longer than it may.
   */
  #keepSpare(): void {
    if (this.#options.keepsSpare && !this.#stopped) this.#spare ??= this.#newChild()
  }

  #onSpareLost(child: RunChild): void {
    if (this.#spare !== child) return
    this.#spare = null
    this.#replacing = false
  }

  #flush(): void {
    this.#flushing = false
    if (this.#stopped || this.#waiting.waiting === 0 || (this.#replacing && this.#spare?.isReady)) return
    const child = this.#ensureChild()
    if (!child.isReady) return
    child.cork()
    const oldest = this.#options.clock.monotonic() - maxWaitMs
    for (let turn = this.#waiting.next(this.#take); turn; turn = this.#waiting.next(this.#take)) {
      const strained = this.#options.offenders.isStrained(turn.key)
      const jobs = turn.items[0] && turn.items[0].queuedAt < oldest ? turn.items.filter((job) => isFresh(job, oldest)) : turn.items
      if (jobs.length > 0) this.#send(child, { id: this.#newId(), turn, jobs, strained })
      else turn.done()
    }
    child.uncork()
  }

  /** The size of a pipeline's next group; 0 where what it or its organization costs lets it wait for the one that is out. */
  readonly #take = (waiting: readonly Job[], organization: string, key: string): number => {
    if (this.#strainedOut > 0 && this.#options.offenders.isStrained(key)) return 0
    if (this.#slow.has(organization) && this.#hasOut(organization)) return 0
    const out = this.#outOf(key)
    if (out >= maxOutPerPipeline || (out > 0 && waiting.length < earlyGroup)) return 0
    return groupSize(waiting)
  }

  #hasOut(organization: string): boolean {
    for (const { turn } of this.#out.values()) if (turn.organization === organization) return true
    return false
  }

  #outOf(key: string): number {
    let out = 0
    for (const { turn } of this.#out.values()) if (turn.key === key) out++
    return out
  }

  #newId(): number {
    this.#nextId = (this.#nextId % 0x3fffffff) + 1
    return this.#nextId
  }

  #send(child: RunChild, group: Group): void {
    const program = group.jobs[0]?.call.program
    if (!program) return
    if (this.#out.size === 0) this.#answeredAt = performance.now()
    this.#out.set(group.id, group)
    if (group.strained) this.#strainedOut++
    this.#options.onBatch(group.jobs.length)
    child.run(group.id, group.turn.key, program, batchOf(program, group.jobs), String(group.jobs[0]?.call.script?.deadlineMs ?? ""))
  }

  #onFrame([kind = "", id = "", a = "", b = ""]: string[]): void {
    const group = this.#out.get(Number(id))
    if (!group) return
    this.#close(group)
    this.#measure(group)
    if (kind === "need") {
      this.#child?.hasNot(group.turn.key)
      this.#putBack(group, group.jobs)
    } else if (kind === "lost") this.#blame(group, Number(a), b)
    else this.#settle(group, a, b)
    this.#flush()
  }

  /** Gives out results; what comes after them is one failure, if any, and events that did not run. */
  #settle(group: Group, results: string, failure: string): void {
    const parts = results === "" ? [] : unpack(results)
    const done = parts.length / fieldsOut
    group.jobs.slice(0, done).forEach((job, i) => {
      const at = i * fieldsOut
      const result = resultOf(job.call, parts[at] ?? "", parts[at + 1] ?? "", parts[at + 2] ?? "", parts[at + 3] ?? "")
      if (!result.ok && result.kind === "memory") this.#options.onMisstep(job, smallStrike)
      job.resolve(result)
    })
    if (group.strained && done > 0) this.#options.offenders.good(group.turn.key, done)
    if (failure === "") this.#putBack(group, group.jobs.slice(done))
    else this.#blame({ ...group, jobs: group.jobs.slice(done) }, 0, failure)
  }

  #blame(group: Group, index: number, failure: string): void {
    const culprit = group.jobs[index]
    if (culprit) {
      const result = failureFrom(failure)
      if (!result.ok && (result.kind === "timeout" || result.kind === "memory")) this.#options.onMisstep(culprit, smallStrike)
      culprit.resolve(result)
    }
    this.#putBack(
      group,
      group.jobs.filter((job) => job !== culprit),
    )
  }

  #putBack({ turn: { organization, key } }: Group, jobs: readonly Job[]): void {
    this.#waiting.putBack(organization, key, jobs)
  }

  #close(group: Group): void {
    this.#out.delete(group.id)
    group.turn.done()
    if (group.strained) this.#strainedOut--
    if (this.#replacing) this.#replaceWhenDrained()
    else if (++this.#groupsSinceLook >= memoryEvery) void this.#lookAtMemory()
  }

  /** Groups run one after the other, so that a group's time begins with the answer before it. */
  #measure({ turn: { organization } }: Group): void {
    const now = performance.now()
    if (now - this.#answeredAt <= slowGroupMs) this.#slow.delete(organization)
    else if (this.#slow.size < maxSlow) this.#slow.add(organization)
    this.#answeredAt = now
  }

  /** V8 gives little back of what many isolates took; a new child does. What waits is kept, and served by the new one. */
  async #lookAtMemory(): Promise<void> {
    this.#groupsSinceLook = 0
    const child = this.#child
    const { max_process_mb } = this.#options.config
    const megabytes = await residentMb(child?.pid)
    if (megabytes <= max_process_mb || child !== this.#child || this.#stopped || this.#replacing) return
    this.#options.onRecycled(megabytes)
    this.#spare ??= this.#newChild()
    this.#replacing = true
    this.#replaceWhenDrained()
  }

  /** The old child works on until its successor is ready, and then ends what it has. */
  #replaceWhenDrained(): void {
    if (!this.#replacing || !this.#spare?.isReady || this.#out.size > 0) return
    const old = this.#child
    this.#child = this.#spare
    this.#spare = null
    this.#replacing = false
    void old?.stop()
    setImmediate(() => this.#flush())
  }

  #onLost(loss: Loss, wasReady: boolean): void {
    this.#child = null
    this.#replacing = false
    if (this.#stopped) return
    this.#options.onLost(loss)
    const groups = [...this.#out.values()]
    for (const group of groups) this.#close(group)
    const rest = loss.report ? this.#withoutNamed(groups, loss) : this.#withoutSuspects(groups, loss)
    for (const group of rest.reverse()) this.#putBack(group, group.jobs)
    if (!wasReady && ++this.#failedStarts >= failedStarts) this.#giveUp()
    if (this.#waiting.waiting > 0 || wasReady) this.#ensureChild()
    this.#keepSpare()
  }

  /** The child named group and event before it ended itself. */
  #withoutNamed(groups: Group[], loss: Loss): Group[] {
    const [id, index] = loss.report ?? []
    const named = groups.find((group) => group.id === Number(id))
    const culprit = named?.jobs[Number(index)]
    if (!named || !culprit) return groups
    this.#options.onCulprit(culprit, loss)
    culprit.resolve({
      ok: false,
      kind: "timeout",
      message: `The event exceeded the hard deadline of ${this.#options.config.hard_deadline_ms} ms, and its process was killed.`,
    })
    return groups.map((group) => (group === named ? { ...group, jobs: group.jobs.filter((job) => job !== culprit) } : group))
  }

  /** Groups run in the order sent, so the first unanswered one was in hand. */
  #withoutSuspects(groups: Group[], loss: Loss): Group[] {
    const [first, ...others] = groups
    if (!first) return groups
    for (const job of first.jobs) job.losses++
    // SIGKILL comes from outside; it is held against a group only when it comes again.
    const outside = loss.signal === "SIGKILL" || loss.signal === "SIGTERM"
    if (outside && first.jobs.every((job) => job.losses < maxLosses)) return groups
    const [only] = first.jobs
    if (first.jobs.length > 1 || !only) this.#options.onSuspects(first.jobs)
    else {
      this.#options.onCulprit(only, loss)
      only.resolve({
        ok: false,
        kind: "memory",
        message: `The event ended its process (${loss.signal ?? `exit ${loss.exitCode}`}), usually by its memory use.`,
      })
    }
    return others
  }

  #giveUp(): void {
    this.#failedStarts = 0
    for (const job of this.#waiting.clear()) job.resolve(unavailable("The sandbox can't start."))
  }
}

/** One that has waited too long is refused. */
function isFresh(job: Job, oldest: number): boolean {
  if (job.queuedAt >= oldest) return true
  job.resolve(unavailable(`The event waited for the sandbox for more than ${maxWaitMs / 1_000} s.`))
  return false
}
