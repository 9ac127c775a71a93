// The durable queue. A job is a document, staged with the commit that asks for it. The node that commits a job holds it
// from birth (its lease is part of the insert) and runs it at once; a job whose lease has run out, because its node died
// or had no room, is claimed by whoever polls first. At least once: a job may run twice, never not at all.

import type { z } from "zod"
import type { Json } from "../contract/collection.ts"
import { type AnyJob, defaultRetry, type EnqueueOptions, type JobQueue, type JobRef, Postponed } from "../contract/job.ts"
import type { Store } from "../contract/store.ts"
import { StagedWork, type Work } from "../contract/work.ts"
import type { Clock } from "../kernel/clock.ts"
import { timestamp } from "../kernel/clock.ts"
import type { Deps, TokenRecord } from "../kernel/di.ts"
import { AppError, asAppError } from "../kernel/errors.ts"
import type { Ids } from "../kernel/ids.ts"
import type { Logger } from "../kernel/log.ts"
import { fromHeaders, inSpan, isTracing, traceHeaders } from "../kernel/tracing.ts"
import { backoff } from "./backoff.ts"
import { JobCollection, type JobDocument } from "./jobs-collection.ts"
import { Leases } from "./leases.ts"

export interface QueueArgs {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Logger
  readonly node: string
  readonly jobs: ReadonlyMap<string, { job: AnyJob; deps: () => Deps<TokenRecord> }>
  readonly concurrency: number
  readonly leaseMs: number
  readonly pollMs: number
  /** Told after each try, for metrics. */
  readonly observe?: (outcome: "done" | "retried" | "dead", type: string, milliseconds: number) => void
}

/** How many jobs a node holds beyond those it runs; further ones stay in the store for whoever has room. */
const heldPerSlot = 8

export class DurableQueue implements JobQueue {
  readonly #args: QueueArgs
  readonly #leases: Leases
  readonly #waiting: JobDocument[] = []
  readonly #held = new Map<string, JobDocument>()
  readonly #running = new Map<string, { stop: AbortController; done: Promise<void> }>()
  #cancelPoll: () => void = () => {}
  /** Monotonic time of the next poll. */
  #pollDue = Number.POSITIVE_INFINITY
  #cancelRenew: () => void = () => {}
  #polling: Promise<void> | undefined
  #releasing: Promise<void> = Promise.resolve()
  #stopped = true

  constructor(args: QueueArgs) {
    this.#args = args
    this.#leases = new Leases(args)
  }

  get depth(): { waiting: number; running: number } {
    return { waiting: this.#waiting.length, running: this.#running.size }
  }

  enqueue<P extends z.ZodType>(work: Work, job: JobRef<P>, payload: z.input<P>, options: EnqueueOptions = {}): string {
    const { clock, ids, leaseMs, node } = this.#args
    const now = clock.now()
    const due = options.runAt ?? now
    const holds = due <= now && this.#hasRoom()
    const doc: JobDocument = {
      id: options.id ?? ids.uuid(),
      type: job.type,
      organization: options.organization ?? null,
      payload: payload as Json,
      state: "queued",
      run_at: timestamp(holds ? now + leaseMs : due),
      held_by: holds ? node : "",
      attempts: 0,
      retry: options.retry ?? job.retry ?? defaultRetry,
      timeout_ms: options.timeoutMs ?? job.timeoutMs ?? 60_000,
      last_error: null,
      created_at: timestamp(now),
      ...(isTracing() ? { trace: traceHeaders() } : {}),
    }
    work.in(JobCollection).insert(doc, { ifPresent: "keep" })
    if (holds) work.afterCommit(() => this.#take(doc))
    else if (due <= now) work.afterCommit(() => this.#pollSoon(0))
    else work.afterCommit(() => this.#pollSoon(Math.max(0, due - now)))
    return doc.id
  }

  revive(work: Work, jobId: string): void {
    const run_at = timestamp(this.#args.clock.now())
    const $set = { state: "queued", run_at, held_by: "", attempts: 0, last_error: null }
    work.in(JobCollection).update(jobId, { $set }, { where: { state: "dead" } })
    work.afterCommit(() => this.#pollSoon(0))
  }

  start(): void {
    this.#stopped = false
    this.#pollSoon(0)
    this.#renewLater()
  }

  /** Takes nothing new, gives what waits back to the store, and lets what runs finish until the deadline. */
  async stop(deadlineMs: number): Promise<void> {
    this.#stopped = true
    this.#cancelPoll()
    this.#cancelRenew()
    await this.#polling
    this.#giveBack()
    await this.#releasing
    const running = [...this.#running.values()]
    const cancel = this.#args.clock.after(deadlineMs, () => {
      for (const one of running) one.stop.abort(new Postponed(0))
    })
    await Promise.all(running.map((one) => one.done))
    cancel()
    await this.#releasing
  }

  #hasRoom(): boolean {
    return !this.#stopped && this.#held.size < this.#args.concurrency * heldPerSlot
  }

  #take(doc: JobDocument): void {
    if (this.#held.has(doc.id)) return
    this.#held.set(doc.id, doc)
    this.#waiting.push(doc)
    if (this.#stopped) this.#giveBack()
    else this.#fill()
  }

  /** Committed while the queue was being stopped. */
  #giveBack(): void {
    const given = this.#waiting.splice(0)
    for (const doc of given) this.#held.delete(doc.id)
    this.#releasing = this.#releasing
      .then(() => this.#leases.release(given.map(({ id }) => id)))
      .catch((error: unknown) => this.#args.log.warn({ err: error }, "jobs could not be given back; their leases will run out"))
  }

  #fill(): void {
    while (!this.#stopped && this.#running.size < this.#args.concurrency) {
      const doc = this.#waiting.shift()
      if (!doc) break
      const stop = new AbortController()
      const done = this.#try(doc, stop).finally(() => {
        this.#running.delete(doc.id)
        this.#held.delete(doc.id)
        this.#fill()
        if (this.#waiting.length === 0 && this.#hasRoom()) this.#pollSoon(this.#args.pollMs)
      })
      this.#running.set(doc.id, { stop, done })
    }
  }

  async #try(doc: JobDocument, stop: AbortController): Promise<void> {
    const { clock, log, jobs, observe } = this.#args
    const started = clock.monotonic()
    const known = jobs.get(doc.type)
    const attempt = doc.attempts + 1
    const work = new StagedWork(`${doc.id}:${attempt}:${started}`)
    const cancel = clock.after(doc.timeout_ms, () =>
      stop.abort(new AppError("deadline_exceeded", `The job took longer than ${doc.timeout_ms} ms.`)),
    )
    const jobLog = log.child({ job: doc.id, type: doc.type, organization: doc.organization ?? undefined })
    const args = {
      attempt,
      last: attempt >= doc.retry.max_attempts,
      organization: doc.organization ?? undefined,
      jobId: doc.id,
      signal: stop.signal,
      log: jobLog,
      work,
    }
    try {
      if (!known) throw new AppError("unimplemented", `No plugin declares the job "${doc.type}".`, { retryable: false })
      const payload: unknown = known.job.payload.parse(doc.payload)
      const attributes = () => ({ "millrace.job": doc.type, "millrace.job_id": doc.id, "millrace.attempt": attempt })
      const run = () => abortable(known.job.run({ ...args, payload, deps: known.deps() }), stop.signal)
      await fromHeaders(doc.trace ?? {}, () => inSpan("job", { attributes }, run))
      work.in(JobCollection).remove(doc.id, { optional: true })
      await work.commitTo(this.#args.store)
      observe?.("done", doc.type, clock.monotonic() - started)
    } catch (error) {
      const outcome = await this.#failed(doc, attempt, error, args).catch((fault: unknown) => {
        jobLog.error({ err: fault }, "the outcome of a job could not be kept; its lease will run out")
        return "retried" as const
      })
      observe?.(outcome, doc.type, clock.monotonic() - started)
    } finally {
      cancel()
    }
  }

  async #failed(
    doc: JobDocument,
    attempt: number,
    error: unknown,
    args: Omit<Parameters<AnyJob["run"]>[0], "payload" | "deps">,
  ): Promise<"retried" | "dead"> {
    const { clock, jobs } = this.#args
    const failure = asAppError(error)
    const postponed = error instanceof Postponed ? error.milliseconds : args.signal.reason instanceof Postponed ? 0 : undefined
    const ended = postponed === undefined && (args.last || failure.details["retryable"] === false)
    const work = new StagedWork(`${doc.id}:${attempt}:failed:${clock.monotonic()}`)
    const message = (error instanceof Error ? error.message : String(error)).slice(0, 2_000)
    const known = jobs.get(doc.type)
    if (ended && known?.job.exhausted) await known.job.exhausted({ ...args, work, payload: doc.payload, deps: known.deps() }, error)
    const wait = postponed ?? backoff(doc.retry, attempt)
    const due = clock.now() + wait
    work.in(JobCollection).update(
      doc.id,
      {
        $set: {
          state: ended ? "dead" : "queued",
          run_at: timestamp(due),
          held_by: "",
          attempts: postponed === undefined ? attempt : doc.attempts,
          last_error: postponed === undefined ? message : doc.last_error,
        },
      },
      // Not where another node has claimed it since: this one's lease ran out.
      { where: { held_by: this.#args.node }, optional: true },
    )
    await work.commitTo(this.#args.store)
    if (ended) args.log.error({ err: error, attempt }, "job failed for good")
    else {
      if (postponed === undefined) args.log.warn({ err: error, attempt, again_in_ms: wait }, "job failed, will be tried again")
      this.#pollSoon(wait)
    }
    return ended ? "dead" : "retried"
  }

  /** Brings the next poll forward to at most that far from now. */
  #pollSoon(milliseconds: number): void {
    if (this.#stopped) return
    const { clock, pollMs, log } = this.#args
    const wait = Math.max(0, Math.min(milliseconds, pollMs))
    const due = clock.monotonic() + wait
    if (due >= this.#pollDue) return
    this.#cancelPoll()
    this.#pollDue = due
    this.#cancelPoll = clock.after(wait, () => {
      this.#pollDue = Number.POSITIVE_INFINITY
      if (this.#polling) return this.#pollSoon(10)
      this.#polling = this.#poll()
        .catch((error: unknown) => log.warn({ err: error }, "jobs could not be polled"))
        .finally(() => {
          this.#polling = undefined
          this.#pollSoon(pollMs)
        })
    })
  }

  async #poll(): Promise<void> {
    const room = this.#args.concurrency * heldPerSlot - this.#held.size
    if (room <= 0) return
    const due = await this.#leases.due(Math.min(room, 100))
    await Promise.all(
      due.map(async (doc) => {
        if (this.#held.has(doc.id) || this.#stopped) return
        const claimed = await this.#leases.claim(doc)
        if (claimed) this.#take(claimed)
      }),
    )
  }

  #renewLater(): void {
    this.#cancelRenew = this.#args.clock.after(this.#args.leaseMs / 3, () => {
      this.#leases
        .renew(this.#held.keys())
        .catch((error: unknown) => this.#args.log.warn({ err: error }, "leases of jobs could not be renewed"))
        .finally(() => {
          if (!this.#stopped || this.#running.size > 0) this.#renewLater()
        })
    })
  }
}

function abortable(work: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true })
    work.then(resolve, reject)
  })
}
