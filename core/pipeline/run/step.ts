// One step: its condition, its list, its config, its action, tried as often as it may be. Commit actions that return at
// once cost no promise: the hot path stays synchronous.

import type { AnyAction, Reply } from "../../contract/action.ts"
import type { Json } from "../../contract/collection.ts"
import type { RetryPolicy } from "../../contract/job.ts"
import type { Work } from "../../contract/work.ts"
import type { Clock } from "../../kernel/clock.ts"
import { sleep } from "../../kernel/clock.ts"
import type { Deps, TokenRecord } from "../../kernel/di.ts"
import { AppError, asAppError } from "../../kernel/errors.ts"
import type { Step } from "../graph.ts"
import type { Execution } from "./execution.ts"

export interface StepServices {
  readonly clock: Clock
  readonly depsOf: (action: AnyAction) => Deps<TokenRecord>
  /** Milliseconds to wait after a failed attempt. */
  readonly backoff: (retry: RetryPolicy, attempt: number) => number
}

export type Outcome =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: true; readonly skipped: true }
  | { readonly ok: false; readonly error: AppError }

/** Runs the step once for each element it is for; `work` takes what it stages. */
export function attemptStep(
  execution: Execution,
  step: Step,
  attempt: number,
  services: StepServices,
  work: Work,
  signal: AbortSignal,
): Outcome | Promise<Outcome> {
  try {
    const { scope } = execution
    if (step.when && !step.when(scope)) return { ok: true, skipped: true }
    if (!step.forEach) {
      const result = runOnce(execution, step, undefined, 0, attempt, services, work, signal)
      return isPromise(result) ? result.then(done, failed) : { ok: true, result }
    }
    return runEach(execution, step, step.forEach(scope), attempt, services, work, signal).then(done, failed)
  } catch (error) {
    return failed(error)
  }
}

function done(result: unknown): Outcome {
  return { ok: true, result }
}

function failed(error: unknown): Outcome {
  if (error instanceof AppError) return { ok: false, error }
  const message = error instanceof Error ? error.message : String(error)
  return { ok: false, error: new AppError("unknown", message.slice(0, 1_000), asAppError(error).details, { cause: error }) }
}

async function runEach(
  execution: Execution,
  step: Step,
  items: readonly Json[],
  attempt: number,
  services: StepServices,
  work: Work,
  signal: AbortSignal,
): Promise<unknown[]> {
  if (items.length > 1_000)
    throw new AppError("failed_precondition", `for_each gave ${items.length} elements; at most 1,000 are taken.`, { retryable: false })
  const results: unknown[] = []
  for (const [index, item] of items.entries()) {
    results.push(await runOnce(execution, step, item, index, attempt, services, work, signal))
  }
  return results
}

function runOnce(
  execution: Execution,
  step: Step,
  item: Json | undefined,
  index: number,
  attempt: number,
  services: StepServices,
  work: Work,
  signal: AbortSignal,
): unknown {
  const scope = item === undefined ? execution.scope : { ...execution.scope, item }
  return step.action.run({
    config: step.config(scope),
    deps: services.depsOf(step.action),
    context: execution.context(step, item, index, attempt, signal),
    work,
    reply: (reply: Reply) => {
      execution.reply = reply
    },
  })
}

/** Tries until it succeeds, fails for good or is told to stop. For awaited steps; deferred ones are retried by their job. */
export async function runWithRetries(
  execution: Execution,
  step: Step,
  services: StepServices,
  work: Work,
): Promise<{ outcome: Outcome; attempts: number }> {
  for (let attempt = 1; ; attempt++) {
    const outcome = await withDeadline(step, execution.args.signal, services.clock, (signal) =>
      attemptStep(execution, step, attempt, services, work, signal),
    )
    if (outcome.ok || attempt >= step.retry.max_attempts || outcome.error.details["retryable"] === false || execution.args.signal.aborted)
      return { outcome, attempts: attempt }
    await sleep(services.clock, services.backoff(step.retry, attempt))
  }
}

/** Gives up as `deadline_exceeded` when the step's time is over, whether or not its action heeds the signal. */
export async function withDeadline(
  step: Step,
  parent: AbortSignal,
  clock: Clock,
  run: (signal: AbortSignal) => Outcome | Promise<Outcome>,
): Promise<Outcome> {
  const controller = new AbortController()
  const late = new AppError("deadline_exceeded", `The step took longer than its ${step.timeoutMs} ms.`)
  let expire: (outcome: Outcome) => void = () => {}
  const expired = new Promise<Outcome>((resolve) => {
    expire = resolve
  })
  const abort = (reason: AppError) => {
    controller.abort(reason)
    expire({ ok: false, error: reason })
  }
  const stopped = () => abort(asAppError(parent.reason))
  parent.addEventListener("abort", stopped, { once: true })
  const cancel = clock.after(step.timeoutMs, () => abort(late))
  try {
    return await Promise.race([run(controller.signal), expired])
  } finally {
    cancel()
    parent.removeEventListener("abort", stopped)
  }
}

export function isPromise(value: unknown): value is Promise<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function"
}
