// Durable work beyond the call that requests it: leased, retried, at least once. A job is staged in a unit of work, so it exists
// exactly if the commit succeeds.
import type { z } from "zod"
import { type Deps, type TokenRecord, token } from "../kernel/di.ts"
import { AppError } from "../kernel/errors.ts"
import type { Logger } from "../kernel/log.ts"
import type { DeclarationKind } from "../kernel/registry.ts"
import type { JobGate, Requester } from "./gate.ts"
import type { UnitOfWork } from "./unit-of-work.ts"

/** Exponential backoff with full jitter. */
export interface RetryPolicy {
  readonly max_attempts: number
  readonly initial_delay_ms: number
  readonly factor: number
  readonly max_delay_ms: number
}

/** The default retry policy of jobs. */
export const defaultRetry: RetryPolicy = { max_attempts: 8, initial_delay_ms: 1_000, factor: 2, max_delay_ms: 3_600_000 }

/** Vault context of a payload's `sealed` field. A changed master key is checked against this secret. */
export function sealContext(jobId: string): string {
  return `job ${jobId}`
}

export interface JobArgs<P, R extends TokenRecord> {
  readonly payload: P
  readonly deps: Deps<R>
  /** 1 for the first attempt. */
  readonly attempt: number
  /** True if a failure of this attempt is final. */
  readonly last: boolean
  readonly organization: string | undefined
  readonly jobId: string
  readonly signal: AbortSignal
  readonly log: Logger
  /** Committed together with the job's completion. */
  readonly work: UnitOfWork
  /** The `remember` value of `enqueue`. Set only in a first attempt on the node that enqueued the job. */
  readonly remembered?: unknown
  /** Returns true if this node holds the job in memory during a postponement of this length. */
  keepsFor(milliseconds: number): boolean
}

/** A reference to a job, for the code that enqueues it. */
export interface JobRef<P extends z.ZodType = z.ZodType> {
  readonly type: string
  readonly payload: P
  readonly retry?: RetryPolicy
  /** Deadline of one attempt. Default 60,000. */
  readonly timeoutMs?: number
}

/** Runs a job. */
export interface JobHandler<P extends z.ZodType, R extends TokenRecord> {
  readonly summary: string
  /** Concurrent runs on a node; default `jobs.concurrency`. Jobs of other types do not wait for them. */
  readonly slots?: number
  /** Slots reserved for organizations without a running job; default a quarter, rounded down. */
  readonly reservedSlots?: number
  /** True if jobs of one key may hang together. A key then uses at most half of its organization's free slots. */
  readonly limitsKeys?: boolean
  readonly inject?: R
  /** The gate of a run. The job needs an organization. The run waits for approval if the organization asks for it. */
  readonly gate?: JobGate<z.output<P>>
  /** A thrown error retries the job. An AppError with details `retryable: false` ends the job at once. */
  run(args: JobArgs<z.output<P>, R>): Promise<void>
  /**
   * Runs after the last failed attempt, in the unit of work that marks the job dead. After a refused approval it runs in the unit
   * of work that removes the job.
   */
  exhausted?(args: JobArgs<z.output<P>, R>, error: unknown): Promise<void> | void
}

export interface Job<P extends z.ZodType = z.ZodType, R extends TokenRecord = TokenRecord> extends JobRef<P>, JobHandler<P, R> {}

// biome-ignore lint/suspicious/noExplicitAny: the registry holds jobs of every payload type.
export type AnyJob = Job<any, any>

/** All jobs of core and the plugins. */
export const Jobs: DeclarationKind<AnyJob> = { kind: "job", nameOf: (job) => job.type }

/** Names a job beside its collection. Code that enqueues the job needs only the reference. */
export function jobRef<P extends z.ZodType>(type: string, payload: P, options: Pick<JobRef, "retry" | "timeoutMs"> = {}): JobRef<P> {
  return { type, payload, ...options }
}

/** Declares a job: durable work beyond the call that requests it. */
export function defineJob<P extends z.ZodType, const R extends TokenRecord = Record<never, never>>(job: Job<P, R>): Job<P, R>
export function defineJob<P extends z.ZodType, const R extends TokenRecord = Record<never, never>>(
  ref: JobRef<P>,
  handler: JobHandler<P, R>,
): Job<P, R>
export function defineJob<P extends z.ZodType, R extends TokenRecord>(ref: JobRef<P> | Job<P, R>, handler?: JobHandler<P, R>): Job<P, R> {
  return { ...ref, ...handler } as Job<P, R>
}

export interface EnqueueOptions {
  readonly organization?: string
  /** Jobs of one organization take turns by key, such as a pipeline. */
  readonly key?: string
  /** Default: generated. Derive the id if the same job may be staged twice. Both stagings then make one job. */
  readonly id?: string
  /** Milliseconds since the epoch; default now. */
  readonly runAt?: number
  readonly retry?: RetryPolicy
  readonly timeoutMs?: number
  /** The requester of a job with a gate. The requester cannot approve the job. */
  readonly requester?: Requester
  /** Passed to the first attempt if this node runs it at once; not stored. Saves a read of the data just written. */
  readonly remember?: unknown
}

/** The durable queue. A job is staged in a commit and runs at least once. */
export interface JobQueue {
  /** Stages a job. It runs after the commit. Returns its id. */
  enqueue<P extends z.ZodType>(work: UnitOfWork, job: JobRef<P>, payload: z.input<P>, options?: EnqueueOptions): string
  /** Stages a retry of a dead job, from its first attempt. The commit fails with `aborted` or `not_found` if there is no dead job. */
  revive(work: UnitOfWork, jobId: string): void
  /** Stages the deletion of a dead job. No effect on other jobs. */
  discard(work: UnitOfWork, jobId: string): void
  /** Makes a waiting job due now. A running job runs again as soon as it would wait. No effect on a finished job. */
  hasten(work: UnitOfWork, jobId: string): void
}

/** The progress of a job that counts its own attempts, as shown to people. */
export interface JobProgress {
  readonly attempts: number
  readonly max_attempts: number
  readonly last_error: string
}

/** Ends the wait of a postponed job early, on the node with the job. */
export interface EarlyTurn {
  /** Calls `wake` once, when the job may run. */
  onTurn(wake: () => void): void
  /** Removes the job from the waiters. */
  leave(): void
}

/** Thrown by a job that is neither done nor failed. It runs again later, and the attempt does not count. */
export class Postponed extends Error {
  readonly milliseconds: number
  readonly progress: JobProgress | undefined
  readonly early: readonly EarlyTurn[]

  constructor(milliseconds: number, progress?: JobProgress, early: readonly EarlyTurn[] = []) {
    super(`postponed by ${milliseconds} ms`)
    this.milliseconds = milliseconds
    this.progress = progress
    this.early = early
  }
}

/** Thrown by a job after a permanent failure, with its progress. */
export class JobFailed extends AppError {
  readonly progress: JobProgress | undefined

  constructor(message: string, progress?: JobProgress) {
    super("failed_precondition", message, { reason: "job_failed", retryable: false })
    this.progress = progress
  }
}

export const JobQueue = token<JobQueue>("JobQueue")
