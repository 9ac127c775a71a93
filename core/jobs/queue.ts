// The durable queue. A job is a document, staged with the commit that requests it. The committing node holds the job from
// the start (the insert contains the lease) and runs it at once. After an expired lease (the node died or had no room), the
// first node with room claims the job. Jobs run at least once.
import type { z } from "zod"
import type { Json } from "../contract/collection.ts"
import { defaultRetry, type EnqueueOptions, type JobQueue, type JobRef, Postponed } from "../contract/job.ts"
import type { UnitOfWork } from "../contract/unit-of-work.ts"
import { timestamp } from "../kernel/clock.ts"
import type { Turn } from "../kernel/fair-scheduler.ts"
import { BoundedLog } from "../kernel/log.ts"
import { allDone, throwUncaught } from "../kernel/promises.ts"
import { runOutsideRequests } from "../kernel/request-scope.ts"
import { isTracing, traceHeaders } from "../kernel/tracing.ts"
import { type AttemptArgs, attempt, type Next } from "./attempt.ts"
import { Claimer } from "./claimer.ts"
import { withoutOrganization } from "./gated-job.ts"
import { HeldJobs } from "./held-jobs.ts"
import { JobCollection, type JobDocument, laneOf } from "./jobs-collection.ts"
import { Leases } from "./leases.ts"
import { PausedJobs, type PausedJobsArgs } from "./paused-jobs.ts"
import { Poll } from "./poll.ts"

export interface QueueArgs extends AttemptArgs, Pick<PausedJobsArgs, "pauses"> {
  readonly concurrency: number
  readonly leaseMs: number
  readonly pollMs: number
  /** Called for each job that this node takes over after its lease expired. */
  readonly onTakeover?: (type: string) => void
}

/** A job due again within this time sleeps in memory until then. */
const maxSleepMs = 60_000

export class DurableQueue implements JobQueue {
  readonly #args: QueueArgs
  readonly #leases: Leases
  readonly #paused: PausedJobs
  readonly #claimer: Claimer
  readonly #held: HeldJobs
  readonly #log: BoundedLog
  readonly #poll: Poll
  /** Jobs committed just now, without room. */
  readonly #excess: JobDocument[] = []
  /** For the first attempts of jobs enqueued here. */
  readonly #remembered = new WeakMap<JobDocument, unknown>()
  readonly #running = new Map<string, { stop: AbortController; done: Promise<void> }>()
  /** Ids of running jobs that were enqueued again meanwhile. */
  readonly #repeated = new Set<string>()
  #cancelRenew: () => void = () => {}
  #releasing: Promise<void> = Promise.resolve()
  #stopped = true

  constructor(args: QueueArgs) {
    this.#args = args
    this.#leases = new Leases(args)
    this.#held = new HeldJobs(
      (type) => {
        const { slots = args.concurrency, reservedSlots, limitsKeys } = args.jobs.get(type)?.job ?? {}
        return { slots, reservedSlots, limitsKeys }
      },
      () => args.clock.monotonic(),
    )
    this.#log = new BoundedLog(args.log, args.clock)
    const parts = { ...args, log: this.#log, isStopped: () => this.#stopped }
    this.#paused = new PausedJobs({ ...parts, onDue: () => this.#poll.soon(0) })
    this.#claimer = new Claimer({
      ...parts,
      held: this.#held,
      leases: this.#leases,
      paused: this.#paused,
      take: (doc) => this.#take(doc),
    })
    this.#poll = new Poll({ clock: args.clock, everyMs: args.pollMs, log: this.#log, look: () => this.#claimer.claimDue() })
  }

  get depth(): { waiting: number; running: number; sleeping: number } {
    const { waiting, running, sleeping } = this.#held
    return { waiting, running, sleeping }
  }

  /** Shares by organization, longest wait first. */
  get shares(): ReturnType<HeldJobs["shares"]> {
    return this.#held.shares()
  }

  enqueue<P extends z.ZodType>(work: UnitOfWork, job: JobRef<P>, payload: z.input<P>, options: EnqueueOptions = {}): string {
    const { clock, ids, leaseMs, node } = this.#args
    const now = clock.now()
    const due = options.runAt ?? now
    const organization = options.organization ?? null
    if (organization === null && this.#args.jobs.get(job.type)?.job.gate) throw new Error(withoutOrganization(job.type))
    const lane = laneOf(job.type, organization, options.key)
    const mayRun = due <= now && !this.#stopped && !this.#paused.has({ organization })
    const holds = mayRun && this.#held.hasRoom({ type: job.type, organization, lane })
    const doc: JobDocument = {
      id: options.id ?? ids.uuid(),
      type: job.type,
      organization,
      lane,
      payload: payload as Json,
      state: "queued",
      run_at: timestamp(holds ? now + leaseMs : due),
      held_by: holds ? node : "",
      attempts: 0,
      retry: options.retry ?? job.retry ?? defaultRetry,
      timeout_ms: options.timeoutMs ?? job.timeoutMs ?? 60_000,
      last_error: null,
      created_at: timestamp(now),
      ...(options.requester ? { requester: options.requester } : {}),
      ...(isTracing() ? { trace: traceHeaders() } : {}),
    }
    work.in(JobCollection).insert(doc, { ifPresent: "keep" })
    if (holds && options.remember !== undefined) this.#remembered.set(doc, options.remember)
    if (holds) work.afterCommit(() => this.#born(doc))
    else work.afterCommit(() => this.#waits(doc.type, due - now))
    return doc.id
  }

  revive(work: UnitOfWork, jobId: string): void {
    const run_at = timestamp(this.#args.clock.now())
    const $set = { state: "queued", run_at, held_by: "", attempts: 0, last_error: null }
    work.in(JobCollection).update(jobId, { $set, $unset: { progress: true, takeovers: true } }, { where: { state: "dead" } })
    work.afterCommit(() => this.#poll.soon(0))
  }

  discard(work: UnitOfWork, jobId: string): void {
    work.in(JobCollection).remove(jobId, { where: { state: "dead" }, optional: true })
  }

  hasten(work: UnitOfWork, jobId: string): void {
    const $set = { run_at: timestamp(this.#args.clock.now()) }
    const jobs = work.in(JobCollection)
    jobs.update(jobId, { $set }, { where: { state: "queued", held_by: "" }, optional: true })
    jobs.update(jobId, { $set: { hastened: true } }, { where: { state: "queued", held_by: { $ne: "" } }, optional: true })
    work.afterCommit(() => this.#poll.soon(0))
  }

  /** Takes over the jobs of ended processes. For a store of a single process, before `start`. */
  async takeOver(): Promise<void> {
    const jobs = await this.#leases.endOthers(this.#args.jobs.keys())
    if (jobs > 0) this.#args.log.info({ jobs }, "took over the jobs of the process before")
  }

  start(): void {
    this.#stopped = false
    this.#paused.start()
    this.#poll.start()
    this.#renewLater()
  }

  /** Stops: claims no further jobs, returns waiting jobs to the store, and lets running jobs finish until the deadline. */
  async stop(deadlineMs: number): Promise<void> {
    this.#stopped = true
    this.#cancelRenew()
    await this.#poll.stop()
    this.#giveBack()
    await this.#releasing
    const running = [...this.#running.values()]
    const cancel = this.#args.clock.after(deadlineMs, () => {
      for (const one of running) one.stop.abort(new Postponed(0))
    })
    await allDone(running.map((one) => one.done))
    cancel()
    this.#giveBack()
    await this.#releasing
  }

  /** Of many jobs committed at once, jobs beyond the bound go back to the store. */
  #born(doc: JobDocument): void {
    if (this.#stopped || this.#held.hasRoom(doc)) {
      this.#take(doc)
      return
    }
    if (this.#excess.push(doc) > 1) return
    setImmediate(() => {
      const given = this.#excess.splice(0)
      this.#release(given.map(({ id }) => id))
      // The released jobs can be claimed only after this commit.
      this.#releasing
        .then(() => {
          for (const { type } of given) this.#waits(type, 0)
        })
        .catch(throwUncaught)
    })
  }

  #take(doc: JobDocument): void {
    if (this.#held.has(doc.id)) {
      if (this.#running.has(doc.id)) this.#repeated.add(doc.id)
      return
    }
    this.#held.add(doc)
    if (this.#stopped) this.#giveBack()
    else this.#fill()
  }

  /** Notes a job that stays in the store until it is due and there is room. */
  #waits(type: string, milliseconds: number): void {
    if (milliseconds <= 0) this.#claimer.noteDue(type)
    if (this.#held.wantsMore(type)) this.#poll.soon(Math.max(0, milliseconds))
  }

  /** Returns all jobs except running ones to the store, including jobs committed during the stop. */
  #giveBack(): void {
    this.#release([...this.#excess.splice(0).map(({ id }) => id), ...this.#held.clear()])
  }

  #release(given: readonly string[]): void {
    if (given.length === 0) return
    this.#releasing = this.#releasing
      .then(() => this.#leases.release(given))
      .catch((error: unknown) => this.#args.log.warn({ err: error }, "jobs could not be released; their leases will expire"))
  }

  #fill(): void {
    if (this.#stopped) return
    for (const turn of this.#held.next()) this.#run(turn)
  }

  #run(turn: Turn<JobDocument>): void {
    const [doc] = turn.items
    if (!doc) return
    const stop = new AbortController()
    // The lease may have expired during the wait, and another node may have run the job.
    const remembered = doc.run_at > timestamp(this.#args.clock.now()) ? this.#remembered.get(doc) : undefined
    this.#remembered.delete(doc)
    const known = this.#args.jobs.has(doc.type) ? doc.type : "unknown"
    const work = { operation: `job ${known}`, organization: doc.organization ?? "" }
    const args = { ...this.#args, remembered, keeps: (milliseconds: number) => this.#keeps(milliseconds) }
    const run = () => (this.#paused.has(doc) ? this.#paused.parkHeld(doc) : attempt(args, doc, stop))
    const done = runOutsideRequests(run, work).then((next) => {
      this.#running.delete(doc.id)
      turn.done()
      this.#held.release(doc)
      const repeated = this.#repeated.delete(doc.id)
      if (next) this.#again(doc.id, next)
      // The document of this run is gone, so an existing document was enqueued afterwards.
      else if (repeated) this.#reread(doc.id).catch(throwUncaught)
      this.#fill()
      if (this.#claimer.wantsMore(doc.type)) this.#poll.soon(0)
    })
    this.#running.set(doc.id, { stop, done })
  }

  #keeps(milliseconds: number): boolean {
    return !this.#stopped && milliseconds <= maxSleepMs && this.#held.maySleep
  }

  #again(id: string, { milliseconds, kept, early = [] }: Next): void {
    const leave = () => {
      for (const turn of early) turn.leave()
    }
    if (!kept || this.#stopped) {
      leave()
      this.#poll.soon(milliseconds)
      if (kept) this.#held.sleep(id, () => undefined)
      if (kept) this.#giveBack()
      return
    }
    const wake = () => {
      this.#wake(id).catch(throwUncaught)
    }
    const cancel = this.#args.clock.after(milliseconds, wake)
    this.#held.sleep(id, () => {
      cancel()
      leave()
    })
    for (const turn of early) turn.onTurn(wake)
  }

  /** Runs on time regardless of earlier jobs in the store, since the job is already held. */
  async #wake(id: string): Promise<void> {
    await this.#reread(id, () => this.#held.wake(id))
  }

  async #reread(id: string, isWanted = () => true): Promise<void> {
    const { store, node } = this.#args
    const doc = await store
      .open(JobCollection)
      .get(id)
      .catch((error: unknown) => {
        this.#log.warn("wake", { err: error }, "a job could not be read for its next try; its lease will run out")
      })
    if (isWanted() && doc?.state === "queued" && doc.held_by === node) this.#take(doc)
  }

  #renewLater(): void {
    this.#cancelRenew = this.#args.clock.after(this.#args.leaseMs / 3, () => {
      this.#leases
        .renew(this.#held.ids())
        .catch((error: unknown) => this.#log.warn("renew", { err: error }, "leases of jobs could not be renewed"))
        .finally(() => {
          if (!this.#stopped || this.#running.size > 0) this.#renewLater()
        })
    })
  }
}
