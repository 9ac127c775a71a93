// Work that outlives the call that asked for it: durable, leased, retried, at least once. A job is staged in a unit of
// work, so it exists exactly when its commit does.
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

/** How often, and after how long, a job is retried unless it says otherwise. */
export const defaultRetry: RetryPolicy = { max_attempts: 8, initial_delay_ms: 1_000, factor: 2, max_delay_ms: 3_600_000 }

/** A payload's field `sealed` holds a secret that the vault sealed under this context, so that a changed master key is checked against it. */
export function sealContext(jobId: string): string {
  return `job ${jobId}`
}

export interface JobArgs<P, R extends TokenRecord> {
  readonly payload: P
  readonly deps: Deps<R>
  /** 1 for the first try. */
  readonly attempt: number
  /** True when no try follows a failure of this one. */
  readonly last: boolean
  readonly organization: string | undefined
  readonly jobId: string
  readonly signal: AbortSignal
  readonly log: Logger
  /** Committed together with the job's completion. */
  readonly work: UnitOfWork
  /** What `enqueue` was given to remember, where this is the first attempt, on the node that enqueued it. */
  readonly remembered?: unknown
  /** Returns true if this node keeps the job in memory while it is postponed by so many milliseconds. */
  keepsFor(milliseconds: number): boolean
}

/** Names a job for the code that enqueues it. */
export interface JobRef<P extends z.ZodType = z.ZodType> {
  readonly type: string
  readonly payload: P
  readonly retry?: RetryPolicy
  /** Deadline of one try. Default 60,000. */
  readonly timeoutMs?: number
}

/** Runs a job. */
export interface JobHandler<P extends z.ZodType, R extends TokenRecord> {
  readonly summary: string
  /** How many of these a node runs at once; `jobs.concurrency` unless given. No other type's jobs wait for them. */
  readonly slots?: number
  /** Of the slots, those reserved for organizations that hold none; a quarter, rounded down, unless given. */
  readonly reservedSlots?: number
  /** True if jobs of one key may hang together: a key then takes at most half of the slots that its organization has free. */
  readonly limitsKeys?: boolean
  readonly inject?: R
  /** A run waits for a person's approval where the organization asks for it. Such a job is enqueued for an organization. */
  readonly gate?: JobGate<z.output<P>>
  /** Throws to have the job retried; an AppError with details `retryable: false` ends it at once. */
  run(args: JobArgs<z.output<P>, R>): Promise<void>
  /** Called when the last try failed, in the unit of work that marks the job dead; and when the job was not approved, in that which removes it. */
  exhausted?(args: JobArgs<z.output<P>, R>, error: unknown): Promise<void> | void
}

export interface Job<P extends z.ZodType = z.ZodType, R extends TokenRecord = TokenRecord> extends JobRef<P>, JobHandler<P, R> {}

// biome-ignore lint/suspicious/noExplicitAny: the registry holds jobs of every payload type.
export type AnyJob = Job<any, any>

/** Every job that core and the plugins declare. */
export const Jobs: DeclarationKind<AnyJob> = { kind: "job", nameOf: (job) => job.type }

/** Names a job beside its collection. Code that enqueues the job needs only the reference. */
export function jobRef<P extends z.ZodType>(type: string, payload: P, options: Pick<JobRef, "retry" | "timeoutMs"> = {}): JobRef<P> {
  return { type, payload, ...options }
}

/** Declares a job: work that outlives the call that asked for it. */
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
  /** Jobs of one organization take turns by this: a pipeline, say. */
  readonly key?: string
  /** Derived where the same job may be staged twice; the second is then the same job. Default: generated. */
  readonly id?: string
  /** Milliseconds since the epoch; default now. */
  readonly runAt?: number
  readonly retry?: RetryPolicy
  readonly timeoutMs?: number
  /** Who asked for a job that has a gate; may not decide about it. */
  readonly requester?: Requester
  /** Handed to the first attempt where this node makes it at once, so that it need not read what was just written; not stored. */
  readonly remember?: unknown
}

/** The durable queue: a job is staged in a commit, and runs at least once. */
export interface JobQueue {
  /** Stages a job; it runs once the work is committed. Returns its id. */
  enqueue<P extends z.ZodType>(work: UnitOfWork, job: JobRef<P>, payload: z.input<P>, options?: EnqueueOptions): string
  /** Stages that a dead job is retried, from its first try. The commit fails as `aborted` or `not_found` where there is none. */
  revive(work: UnitOfWork, jobId: string): void
  /** Stages that a dead job goes; nothing where it is not dead. */
  discard(work: UnitOfWork, jobId: string): void
  /** Stages that a job which waits for its time is due now; one that runs, as soon as it is to wait. Nothing where it is done. */
  hasten(work: UnitOfWork, jobId: string): void
}

/** How far a job is that counts its tries itself, as people see it. */
export interface JobProgress {
  readonly attempts: number
  readonly max_attempts: number
  readonly last_error: string
}

/** Ends the wait of a postponed job early, on the node that holds it. */
export interface EarlyTurn {
  /** Calls back once, when the job may run. */
  onTurn(wake: () => void): void
  /** The job no longer waits for the turn. */
  leave(): void
}

/** Thrown by a job that is not done but has not failed either: it runs again later, and the try does not count. */
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

/** Thrown by a job that failed permanently, with what it knows of its tries. */
export class JobFailed extends AppError {
  readonly progress: JobProgress | undefined

  constructor(message: string, progress?: JobProgress) {
    super("failed_precondition", message, { reason: "job_failed", retryable: false })
    this.progress = progress
  }
}

export const JobQueue = token<JobQueue>("JobQueue")
