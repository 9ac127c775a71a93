// The durable queue. A job is a document, staged with the commit that asks for it. The node that commits a job holds it
// from birth (its lease is part of the insert) and runs it at once; a job whose lease has run out, because its node died
// or had no room, is claimed by whoever polls first. At least once: a job may run twice, never not at all.

import type { z } from "zod"
import type { Json } from "../contract/collection.ts"
import { defaultRetry, type EnqueueOptions, type JobQueue, type JobRef, Postponed } from "../contract/job.ts"
import type { Work } from "../contract/work.ts"
import { timestamp } from "../kernel/clock.ts"
import type { Ids } from "../kernel/ids.ts"
import { isTracing, traceHeaders } from "../kernel/tracing.ts"
import { type AttemptArgs, attempt } from "./attempt.ts"
import { JobCollection, type JobDocument } from "./jobs-collection.ts"
import { Leases } from "./leases.ts"

export interface QueueArgs extends AttemptArgs {
  readonly ids: Ids
  readonly concurrency: number
  readonly leaseMs: number
  readonly pollMs: number
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
      const done = attempt(this.#args, doc, stop).then((againMs) => {
        this.#running.delete(doc.id)
        this.#held.delete(doc.id)
        if (againMs !== undefined) this.#pollSoon(againMs)
        this.#fill()
        if (this.#waiting.length === 0 && this.#hasRoom()) this.#pollSoon(this.#args.pollMs)
      })
      this.#running.set(doc.id, { stop, done })
    }
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
