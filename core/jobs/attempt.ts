// One attempt of a job. Its staged writes are committed together with its end. After a failure the job is retried or dead.
import { withReason } from "../contract/gate.ts"
import { type AnyJob, type EarlyTurn, JobFailed, type JobProgress, Postponed, type RetryPolicy } from "../contract/job.ts"
import { commitOutcome, roomForOutcome } from "../contract/receipts.ts"
import type { Store } from "../contract/store.ts"
import { StagedWork } from "../contract/unit-of-work.ts"
import { timestamp } from "../kernel/clock.ts"
import type { Deps, TokenRecord } from "../kernel/di.ts"
import { AppError, asAppError, untriedMs } from "../kernel/errors.ts"
import type { Logger } from "../kernel/log.ts"
import { fromHeaders, inSpan } from "../kernel/tracing.ts"
import { type Done, type JobGating, jobGateState } from "./gated-job.ts"
import { JobCollection, type JobDocument } from "./jobs-collection.ts"

export interface AttemptArgs extends JobGating {
  readonly store: Store
  readonly log: Logger
  readonly jobs: ReadonlyMap<string, { job: AnyJob; deps: () => Deps<TokenRecord> }>
  readonly remembered?: unknown
  /** Returns true if this node still holds a job that is due again after this time. */
  readonly keeps?: (milliseconds: number) => boolean
  /** Called after each attempt, for metrics. */
  readonly observe?: (outcome: "done" | "retried" | "dead", type: string, milliseconds: number) => void
}

/** Takeovers without a counted attempt. Each further takeover counts as an attempt, since the job may be crashing its nodes. */
const freeTakeovers = 3

/** Maximum age of a job for uncounted attempts at a destination that does not answer. */
const maxPauseMs = 86_400_000

/** The job's next due time, and whether this node holds it until then. */
export interface Next {
  readonly milliseconds: number
  readonly kept: boolean
  /** Turns that end the wait early. */
  readonly early?: readonly EarlyTurn[]
}

/** Arguments shared by a job's `run` and `exhausted`. */
type Handed = Omit<Parameters<AnyJob["run"]>[0], "payload" | "deps">

type HandedOn = Handed & { readonly approved: Done | undefined }

/** Never rejects. Resolves to undefined if the job has ended, or if its outcome could not be stored. The lease then expires. */
export async function attempt(queue: AttemptArgs, doc: JobDocument, stop: AbortController): Promise<Next | undefined> {
  const { clock, log, jobs, observe } = queue
  await roomForOutcome({ store: queue.store, clock, signal: stop.signal })
  const started = clock.monotonic()
  const known = jobs.get(doc.type)
  const lost = Math.max(0, (doc.takeovers ?? 0) - freeTakeovers)
  const number = Math.min(doc.attempts + 1 + lost, doc.retry.max_attempts)
  const usedUp = doc.attempts + lost >= doc.retry.max_attempts
  const work = new StagedWork(`${doc.id}:${number}:${started}`)
  const cancel = clock.after(doc.timeout_ms, () =>
    stop.abort(new AppError("deadline_exceeded", `The job timed out after ${doc.timeout_ms} ms.`, { reason: "attempt_timeout" })),
  )
  const handed: Handed = {
    attempt: number,
    last: number >= doc.retry.max_attempts,
    organization: doc.organization ?? undefined,
    jobId: doc.id,
    signal: stop.signal,
    remembered: queue.remembered,
    keepsFor: (milliseconds) => queue.keeps?.(milliseconds) ?? false,
    log: log.child({ job: doc.id, type: doc.type, organization: doc.organization ?? undefined }),
    work,
  }
  let approved: Done | undefined
  const told = (outcome: "done" | "retried" | "dead") => observe?.(outcome, doc.type, clock.monotonic() - started)
  try {
    // The queue claims jobs only by declared types.
    if (!known) throw new Error(`No plugin declares the job "${doc.type}".`)
    const gate = await jobGateState(queue, doc, known.job, work)
    if (gate.kind === "filed") {
      await work.commitTo(queue.store)
      told("retried")
      return { milliseconds: gate.milliseconds, kept: false }
    }
    if (gate.kind === "refused") {
      handed.log.info({ reason: gate.error.details.reason }, "a job was not approved, and ends")
      await known.job.exhausted?.({ ...handed, payload: doc.payload, deps: known.deps() }, gate.error)
      work.in(JobCollection).remove(doc.id, { optional: true })
      await work.commitTo(queue.store)
      told("done")
      return undefined
    }
    if (gate.kind === "approved") approved = gate.done
    if (usedUp) throw new JobFailed(`The nodes that ran it ended ${doc.takeovers} times in a row; it is not retried by itself.`)
    const payload: unknown = known.job.payload.parse(gate.kind === "approved" ? gate.payload : doc.payload)
    const attributes = () => ({ "millrace.job": doc.type, "millrace.job_id": doc.id, "millrace.attempt": number })
    const run = () => abortable(known.job.run({ ...handed, payload, deps: known.deps() }), stop.signal)
    await fromHeaders(doc.trace ?? {}, () => inSpan("job", { attributes }, run))
    await approved?.(work, { ok: true, result: null })
    work.in(JobCollection).remove(doc.id, { optional: true })
    // The job is done, so its time limit does not end the wait for room.
    cancel()
    await commitOutcome(work, { store: queue.store, clock, signal: stop.signal })
    told("done")
    return undefined
  } catch (error) {
    const next = await nextAfter(queue, doc, error, { ...handed, approved })
    told(next === "dead" ? "dead" : "retried")
    return next === "dead" || next === "lost" ? undefined : next
  } finally {
    cancel()
  }
}

/** Stores the consequence of a failure. Returns `lost` if the store refused it. */
async function nextAfter(queue: AttemptArgs, doc: JobDocument, error: unknown, handed: HandedOn): Promise<Next | "dead" | "lost"> {
  const early = error instanceof Postponed ? error.early : []
  try {
    const next = await failed(queue, doc, error, handed)
    if (!next) return "dead"
    return !next.kept && (await hastenedMeanwhile(queue, doc)) ? { milliseconds: 0, kept: false, early } : { ...next, early }
  } catch (fault) {
    handed.log.error({ err: fault }, "the outcome of a job could not be stored; its lease will expire")
    for (const turn of early) turn.leave()
    return "lost"
  }
}

/** Stores the consequence of a failure. Returns the same values as `attempt`. */
async function failed(queue: AttemptArgs, doc: JobDocument, error: unknown, { approved, ...handed }: HandedOn): Promise<Next | undefined> {
  const { clock, jobs, node, store, keeps } = queue
  const { attempt: number, last, signal, log } = handed
  const failure = asAppError(error)
  const postponed = signal.reason instanceof Postponed && !(error instanceof Postponed) ? 0 : postponedMs(error, doc, clock.now())
  const progress = progressOf(error)
  const ended = postponed === undefined && (last || failure.details["retryable"] === false)
  const work = new StagedWork(`${doc.id}:${number}:failed:${clock.monotonic()}`)
  const message = (error instanceof Error ? error.message : String(error)).slice(0, 2_000)
  if (ended) {
    const known = jobs.get(doc.type)
    await known?.job.exhausted?.({ ...handed, work, payload: doc.payload, deps: known.deps() }, error)
    await approved?.(work, { ok: false, error: { ...withReason(failure), message } })
  }
  const wait = postponed ?? backoff(doc.retry, number)
  const kept = !ended && (keeps?.(wait) ?? false)
  // The document is unchanged, and its lease is renewed while the job is held.
  if (kept && postponed !== undefined && !progress && !doc.takeovers) return { milliseconds: wait, kept }
  work.in(JobCollection).update(
    doc.id,
    {
      $set: {
        state: ended ? "dead" : "queued",
        ...(kept ? {} : { run_at: timestamp(clock.now() + wait), put_off_at: timestamp(clock.now()), held_by: "" }),
        ...(postponed === undefined ? { attempts: number, last_error: message } : {}),
        ...(progress ? { progress: { ...progress } satisfies JobProgress } : {}),
      },
      ...(doc.takeovers ? { $unset: { takeovers: true } } : {}),
    },
    // Skipped if another node has claimed the job since: the lease here expired.
    { where: { held_by: node }, optional: true },
  )
  await work.commitTo(store)
  if (ended) log.error({ err: error, attempt: number }, "job failed, no attempts left")
  else if (postponed === undefined) log.warn({ err: error, attempt: number, again_in_ms: wait }, "job failed, will be retried")
  return ended ? undefined : { milliseconds: wait, kept }
}

/** Returns true if the awaited event came before the wait was stored. The job is then due at once. */
async function hastenedMeanwhile({ store, clock }: AttemptArgs, { id }: JobDocument): Promise<boolean> {
  if (!(await store.open(JobCollection).get(id))?.hastened) return false
  const work = new StagedWork(`${id}:hastened:${clock.monotonic()}`)
  const update = { $set: { run_at: timestamp(clock.now()) }, $unset: { hastened: true } } as const
  work.in(JobCollection).update(id, update, { where: { held_by: "" }, optional: true })
  await work.commitTo(store)
  return true
}

/** Returns undefined for a failure that counts as an attempt. A destination without answers for days must not retain a job forever. */
function postponedMs(error: unknown, { created_at }: JobDocument, now: number): number | undefined {
  if (error instanceof Postponed) return error.milliseconds
  const failure = asAppError(error)
  const isPausedTooLong = failure.details.reason === "destination_paused" && now - Date.parse(created_at) > maxPauseMs
  return isPausedTooLong ? undefined : untriedMs(failure)
}

function progressOf(error: unknown): JobProgress | undefined {
  return error instanceof Postponed || error instanceof JobFailed ? error.progress : undefined
}

function abortable(work: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true })
    work.then(resolve, reject)
  })
}

// Exponential backoff with full jitter: a random delay up to min(max, initial * factor^(attempt-1)).
// https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/

/** Returns the milliseconds to wait after a failed attempt (1 is the first). */
export function backoff(retry: RetryPolicy, attempt: number, random: () => number = Math.random): number {
  const ceiling = Math.min(retry.max_delay_ms, retry.initial_delay_ms * retry.factor ** (attempt - 1))
  return Math.round(random() * ceiling)
}
