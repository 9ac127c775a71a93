// A run child and its calls. Calls of a turn of the event loop, or of a busy child's wait, leave as groups (groups.ts). A lost
// child is replaced immediately. Its groups run again without the responsible event. A child with too much memory is replaced
// between groups.

import type { Clock } from "../../kernel/clock.ts"
import type { CoreConfig } from "../../kernel/config.ts"
import type { Share } from "../../kernel/fair-scheduler.ts"
import { allDone, throwUncaught } from "../../kernel/promises.ts"
import type { Loss } from "./child-link.ts"
import { CallGroups, type Group } from "./groups.ts"
import { batchOf, failureFrom, type Job, resultOf } from "./job.ts"
import { type Offenders, smallStrike } from "./offenders.ts"
import { RunChild } from "./run-child.ts"
import { fieldsOut, unpack } from "./wire.ts"

export interface LaneOptions {
  /** Starts a successor early if the current child may soon be lost. */
  readonly keepsSpare: boolean
  readonly config: CoreConfig["sandbox"]
  readonly clock: Clock
  readonly bundle: () => Promise<string>
  readonly offenders: Offenders
  /** A child ended itself during a group, and the responsible event is unknown. */
  readonly onSuspects: (jobs: Job[]) => void
  /** An event ended a child. */
  readonly onCulprit: (job: Job, loss: Loss) => void
  readonly onMisstep: (job: Job, weight: number) => void
  readonly onStarted: (milliseconds: number, undenied: readonly string[]) => void
  readonly onLost: (loss: Loss) => void
  /** A child was replaced because of its memory use. */
  readonly onRecycled: (megabytes: number) => void
  readonly onBatch: (events: number) => void
}

/** Groups between two checks of a child's memory. */
const memoryEvery = 200
const maxLosses = 2
const failedStarts = 3

export class Lane {
  readonly #options: LaneOptions
  readonly #groups: CallGroups
  #child: RunChild | null = null
  #spare: RunChild | null = null
  #groupsSinceLook = 0
  /** Sends no more groups to this child. It is replaced after its groups return. */
  #replacing = false
  #flushing = false
  #stopped = false
  #failedStarts = 0

  constructor(options: LaneOptions) {
    this.#options = options
    this.#groups = new CallGroups(options.clock, options.offenders)
  }

  /** True while calls wait or run. */
  get busy(): boolean {
    return this.#groups.waiting > 0 || !this.#groups.isNoneOut
  }

  shares(): Share[] {
    return this.#groups.shares()
  }

  add(job: Job): void {
    this.#groups.add(job)
    if (this.#groups.isLargeFirst) {
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
    this.#groups.refuseOut(message)
    this.#groups.refuseWaiting(message)
    await allDone([this.#child?.stop(), this.#spare?.stop()])
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
   * Keeps a ready successor, because its start is the longest wait for other calls after a loss. The successor starts when a call
   * exceeds its time, long before the child is lost.
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
    if (this.#stopped || this.#groups.waiting === 0 || (this.#replacing && this.#spare?.isReady)) return
    const child = this.#ensureChild()
    if (!child.isReady) return
    child.cork()
    for (let group = this.#groups.next(); group; group = this.#groups.next()) this.#send(child, group)
    child.uncork()
  }

  #send(child: RunChild, group: Group): void {
    const [first] = group.jobs
    if (!first) return
    const { program, script } = first.call
    this.#options.onBatch(group.jobs.length)
    child.run(group.id, group.turn.key, program, batchOf(program, group.jobs), String(script?.deadlineMs ?? ""))
  }

  #onFrame([kind = "", id = "", a = "", b = ""]: string[]): void {
    const group = this.#groups.answered(Number(id))
    if (!group) return
    this.#cameBack()
    if (kind === "need") {
      this.#child?.hasNot(group.turn.key)
      this.#groups.putBack(group, group.jobs)
    } else if (kind === "lost") this.#blame(group, Number(a), b)
    else this.#settle(group, a, b)
    this.#flush()
  }

  /** Resolves the results. After them follow at most one failure, and events that did not run. */
  #settle(group: Group, results: string, failure: string): void {
    const parts = results === "" ? [] : unpack(results)
    const done = parts.length / fieldsOut
    group.jobs.slice(0, done).forEach((job, i) => {
      const at = i * fieldsOut
      const result = resultOf(job.call, parts.slice(at, at + fieldsOut))
      if (!result.ok && result.kind === "memory") this.#options.onMisstep(job, smallStrike)
      job.resolve(result)
    })
    if (group.strained && done > 0) this.#options.offenders.good(group.turn.key, done)
    if (failure === "") this.#groups.putBack(group, group.jobs.slice(done))
    else this.#blame({ ...group, jobs: group.jobs.slice(done) }, 0, failure)
  }

  #blame(group: Group, index: number, failure: string): void {
    const culprit = group.jobs[index]
    if (culprit) {
      const result = failureFrom(failure)
      if (!result.ok && (result.kind === "timeout" || result.kind === "memory")) this.#options.onMisstep(culprit, smallStrike)
      culprit.resolve(result)
    }
    this.#groups.putBack(
      group,
      group.jobs.filter((job) => job !== culprit),
    )
  }

  /** Handles the return of a group. */
  #cameBack(): void {
    if (this.#replacing) this.#replaceWhenDrained()
    else if (++this.#groupsSinceLook >= memoryEvery) this.#lookAtMemory().catch(throwUncaught)
  }

  /** V8 returns little memory of many isolates, so a new child replaces the old one. Waiting calls go to the new child. */
  async #lookAtMemory(): Promise<void> {
    this.#groupsSinceLook = 0
    const child = this.#child
    const { max_process_mb } = this.#options.config
    const megabytes = (await child?.residentMb()) ?? 0
    if (megabytes <= max_process_mb || child !== this.#child || this.#stopped || this.#replacing) return
    this.#options.onRecycled(megabytes)
    this.#spare ??= this.#newChild()
    this.#replacing = true
    this.#replaceWhenDrained()
  }

  /** The old child works until its successor is ready, and then finishes its groups. */
  #replaceWhenDrained(): void {
    if (!this.#replacing || !this.#spare?.isReady || !this.#groups.isNoneOut) return
    const old = this.#child
    this.#child = this.#spare
    this.#spare = null
    this.#replacing = false
    old?.stop().catch(throwUncaught)
    setImmediate(() => this.#flush())
  }

  #onLost(loss: Loss, wasReady: boolean): void {
    this.#child = null
    this.#replacing = false
    if (this.#stopped) return
    this.#options.onLost(loss)
    const groups = this.#groups.out
    for (const group of groups) {
      this.#groups.close(group)
      this.#cameBack()
    }
    const rest = loss.report ? this.#withoutNamed(groups, loss) : this.#withoutSuspects(groups, loss)
    for (const group of rest.reverse()) this.#groups.putBack(group, group.jobs)
    if (!wasReady && ++this.#failedStarts >= failedStarts) this.#giveUp()
    if (this.#groups.waiting > 0 || wasReady) this.#ensureChild()
    this.#keepSpare()
  }

  /** Handles a child that named group and event before it ended itself. */
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

  /** Groups run in the order sent, so the first unanswered group was running. */
  #withoutSuspects(groups: Group[], loss: Loss): Group[] {
    const [first, ...others] = groups
    if (!first) return groups
    for (const job of first.jobs) job.losses++
    // SIGKILL comes from outside. A group is suspected only after a repeat.
    const outside = loss.signal === "SIGKILL" || loss.signal === "SIGTERM"
    if (outside && first.jobs.every((job) => job.losses < maxLosses)) return groups
    const [only] = first.jobs
    if (first.jobs.length > 1 || !only) this.#options.onSuspects(first.jobs)
    else {
      this.#options.onCulprit(only, loss)
      only.resolve({
        ok: false,
        kind: "memory",
        message: `The event ended its process (${loss.signal ?? `exit ${loss.code}`}), usually by its memory use.`,
      })
    }
    return others
  }

  #giveUp(): void {
    this.#failedStarts = 0
    this.#groups.refuseWaiting("The sandbox can't start.")
  }
}
