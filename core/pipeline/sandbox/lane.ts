// One run child and what waits for it (waiting-calls.ts). What arrives in one turn of the event loop, or while the child is
// busy, leaves as groups. A lost child is replaced at once and its groups run again, without the one to blame.
import type { Clock } from "../../kernel/clock.ts"
import type { CoreConfig } from "../../kernel/config.ts"
import type { Loss } from "./child-link.ts"
import { batchOf, failureFrom, fieldsOut, type Job, resultOf, unavailable } from "./job.ts"
import { type Offenders, smallStrike } from "./offenders.ts"
import { RunChild } from "./run-child.ts"
import { WaitingCalls } from "./waiting-calls.ts"
import { unpack } from "./wire.ts"

export interface LaneOptions {
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
  readonly onBatch: (events: number) => void
}

interface Group {
  readonly id: number
  readonly key: string
  readonly jobs: Job[]
  readonly strained: boolean
}

/** As many waiting calls leave before the turn of the event loop is over: the child begins while this process still reads. */
const earlyGroup = 32
const mostGroupsOut = 8
const mostLosses = 2
const failedStarts = 3

export class Lane {
  readonly #options: LaneOptions
  readonly #waiting: WaitingCalls
  readonly #out = new Map<number, Group>()
  #child: RunChild | null = null
  #spare: RunChild | null = null
  #strainedOut = 0
  #nextId = 0
  #flushing = false
  #stopped = false
  #failedStarts = 0

  constructor(options: LaneOptions) {
    this.#options = options
    this.#waiting = new WaitingCalls(options.clock)
  }

  /** Calls that wait or run. */
  get size(): number {
    let out = 0
    for (const group of this.#out.values()) out += group.jobs.length
    return this.#waiting.count + out
  }

  add(job: Job): void {
    this.#waiting.add(job)
    if (this.#waiting.count >= earlyGroup && this.#out.size < mostGroupsOut) {
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
    this.#waiting.refuse(message)
    await Promise.all([this.#child?.stop(), this.#spare?.stop()])
  }

  #ensureChild(): RunChild {
    if (!this.#child) {
      this.#child = this.#spare ?? this.#newChild()
      this.#spare = null
      if (this.#child.isReady) setImmediate(() => this.#flush())
      if (this.#child.isReady) this.#keepSpare()
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
        if (child !== this.#child) return
        this.#flush()
        this.#keepSpare()
      },
    })
    return child
  }

  /** A child that is ready when the one at work is lost: its successor's start is what neighbours would wait for most. */
  #keepSpare(): void {
    if (this.#options.keepsSpare && !this.#stopped) this.#spare ??= this.#newChild()
  }

  #onSpareLost(child: RunChild): void {
    if (this.#spare === child) this.#spare = null
  }

  #flush(): void {
    this.#flushing = false
    if (this.#stopped || this.#waiting.count === 0) return
    const child = this.#ensureChild()
    if (!child.isReady) return
    child.cork()
    for (const key of this.#waiting.turns()) {
      if (this.#out.size >= mostGroupsOut) break
      const strained = this.#options.offenders.isStrained(key)
      if (strained && this.#strainedOut > 0) continue
      const jobs = this.#waiting.take(key)
      if (jobs.length > 0) this.#send(child, { id: this.#newId(), key, jobs, strained })
    }
    child.uncork()
  }

  #newId(): number {
    this.#nextId = (this.#nextId % 0x3fffffff) + 1
    return this.#nextId
  }

  #send(child: RunChild, group: Group): void {
    const program = group.jobs[0]?.call.program
    if (!program) return
    this.#out.set(group.id, group)
    if (group.strained) this.#strainedOut++
    this.#options.onBatch(group.jobs.length)
    child.run(group.id, group.key, program, batchOf(program, group.jobs))
  }

  #onFrame([kind = "", id = "", a = "", b = ""]: string[]): void {
    const group = this.#out.get(Number(id))
    if (!group) return
    this.#close(group)
    if (kind === "need") {
      this.#child?.hasNot(group.key)
      this.#waiting.addFirst(group.key, group.jobs)
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
    if (group.strained && done > 0) this.#options.offenders.good(group.key, done)
    if (failure === "") this.#waiting.addFirst(group.key, group.jobs.slice(done))
    else this.#blame({ ...group, jobs: group.jobs.slice(done) }, 0, failure)
  }

  #blame(group: Group, index: number, failure: string): void {
    const culprit = group.jobs[index]
    if (culprit) {
      const result = failureFrom(failure)
      if (!result.ok && (result.kind === "timeout" || result.kind === "memory")) this.#options.onMisstep(culprit, smallStrike)
      culprit.resolve(result)
    }
    this.#waiting.addFirst(
      group.key,
      group.jobs.filter((job) => job !== culprit),
    )
  }

  #close(group: Group): void {
    this.#out.delete(group.id)
    if (group.strained) this.#strainedOut--
  }

  #onLost(loss: Loss, wasReady: boolean): void {
    this.#child = null
    if (this.#stopped) return
    this.#options.onLost(loss)
    const groups = [...this.#out.values()]
    for (const group of groups) this.#close(group)
    const rest = loss.report ? this.#withoutNamed(groups, loss) : this.#withoutSuspects(groups, loss)
    for (const group of rest.reverse()) this.#waiting.addFirst(group.key, group.jobs)
    if (!wasReady && ++this.#failedStarts >= failedStarts) this.#giveUp(loss)
    if (this.#waiting.count > 0 || wasReady) this.#ensureChild()
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
      message: `The event outstayed the hard deadline of ${this.#options.config.hard_deadline_ms} ms and its process was ended.`,
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
    if (outside && first.jobs.every((job) => job.losses < mostLosses)) return groups
    const [only] = first.jobs
    if (first.jobs.length > 1 || !only) this.#options.onSuspects(first.jobs)
    else {
      this.#options.onCulprit(only, loss)
      only.resolve({
        ok: false,
        kind: "memory",
        message: `The event brought its process down (${loss.signal ?? `exit ${loss.exitCode}`}), most often by the memory it takes.`,
      })
    }
    return others
  }

  #giveUp(loss: Loss): void {
    this.#failedStarts = 0
    this.#waiting.refuse(`The sandbox can't start: ${loss.stderr.trim().slice(0, 500)}`)
  }
}
