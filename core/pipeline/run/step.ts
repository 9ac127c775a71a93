// Runs a step: condition, list, config and action, with retries. A synchronous commit action needs no promise, so the hot path
// stays synchronous.
import type { AnyAction, Reply, StepWarning } from "../../contract/action.ts"
import type { Json } from "../../contract/collection.ts"
import type { RetryPolicy } from "../../contract/job.ts"
import type { UnitOfWork } from "../../contract/unit-of-work.ts"
import type { Clock } from "../../kernel/clock.ts"
import { sleep } from "../../kernel/clock.ts"
import type { Deps, TokenRecord } from "../../kernel/di.ts"
import { AppError, asAppError, untriedMs } from "../../kernel/errors.ts"
import type { Evaluate, Step, TemplateScope } from "../graph.ts"
import { StepBudget, type TemplateRenderer } from "../template/renderer.ts"
import type { Execution, Failure } from "./execution.ts"

export interface StepServices {
  readonly clock: Clock
  readonly depsOf: (action: AnyAction) => Deps<TokenRecord>
  /** Returns the milliseconds to wait after a failed attempt. */
  readonly backoff: (retry: RetryPolicy, attempt: number) => number
  readonly renderer: TemplateRenderer
  /** Replaces deferred actions in a dry run, because a dry run has no effects. */
  readonly rehearse?: (execution: Execution, step: Step) => Promise<StepOutcome>
}

export type StepOutcome =
  | { readonly ok: true; readonly result: unknown }
  | { readonly ok: true; readonly skipped: true }
  /** Previewed in a dry run, not run. */
  | { readonly ok: true; readonly pending: true }
  /** `finished`: results of the elements before a limit paused the step. Their staged writes must be committed with them. */
  | { readonly ok: false; readonly error: AppError; readonly finished?: readonly Json[] }

export interface AttemptOptions {
  /** Approved configs, one per element. The step's condition is not evaluated again. */
  readonly given?: readonly unknown[] | undefined
  /** Results of elements from an earlier try. This try continues after them. */
  readonly finished?: readonly Json[] | undefined
  /** Config of an element, rendered before the step had a slot. */
  readonly rendered?: RenderedConfig | undefined
}

interface RenderedConfig {
  readonly index: number
  readonly config: unknown
}

/** The first destination of a step, and its config. */
export interface StepAim {
  /** Empty if the action declares no destination, or the config does not render. */
  readonly destination: string
  readonly rendered?: RenderedConfig
}

const maxDestination = 200

/** Returns the destination of a deferred step. A config that does not render fails the attempt later, not this function. */
export async function aimOf(execution: Execution, step: Step, services: StepServices, options: AttemptOptions): Promise<StepAim> {
  const { destination } = step.action
  if (!destination) return { destination: "" }
  const nameOf = (config: unknown) => destination(config).slice(0, maxDestination)
  try {
    if (options.given) return { destination: options.given.length > 0 ? nameOf(options.given[0]) : "" }
    const { scope } = execution
    const budget = new StepBudget(execution.input.stored.organization.id, execution)
    const render = <T>(evaluate: Evaluate<T>, within: TemplateScope) => services.renderer.render(evaluate, within, budget)
    if (options.finished === undefined && step.when !== null && !(await render(step.when, scope))) return { destination: "" }
    const index = step.forEach ? (options.finished?.length ?? 0) : 0
    const items = step.forEach && (await render(step.forEach, scope))
    if (items && index >= items.length) return { destination: "" }
    const config = await render(step.config, items ? { ...scope, item: items[index] as Json } : scope)
    return { destination: nameOf(config), rendered: { index, config } }
  } catch {
    return { destination: "" }
  }
}

/** Runs the step once per element. `work` receives the staged writes. */
export function attemptStep(
  execution: Execution,
  step: Step,
  attempt: number,
  services: StepServices,
  work: UnitOfWork,
  signal: AbortSignal,
  options: AttemptOptions = {},
): StepOutcome | Promise<StepOutcome> {
  if (services.rehearse && step.action.timing === "deferred") return services.rehearse(execution, step)
  const run = new Attempt(execution, step, attempt, services, work, signal, options)
  try {
    const wanted =
      options.given !== undefined || options.finished !== undefined || step.when === null || run.render(step.when, execution.scope)
    if (wanted instanceof Promise) return wanted.then((now) => (now ? run.all() : skipped)).catch(failed)
    return wanted ? run.all() : skipped
  } catch (error) {
    return failed(error)
  }
}

const skipped: StepOutcome = { ok: true, skipped: true }

function done(result: unknown): StepOutcome {
  return { ok: true, result }
}

function failed(error: unknown): StepOutcome {
  if (error instanceof AppError) return { ok: false, error }
  const message = error instanceof Error ? error.message : String(error)
  return { ok: false, error: new AppError("unknown", message.slice(0, 1_000), { reason: "action_error" }, { cause: error }) }
}

/** A try of a step. */
class Attempt {
  readonly #execution: Execution
  readonly #step: Step
  readonly #attempt: number
  readonly #services: StepServices
  readonly #work: UnitOfWork
  readonly #signal: AbortSignal
  readonly #budget: StepBudget
  readonly #given: readonly unknown[] | undefined
  readonly #finished: Json[]
  readonly #rendered: RenderedConfig | undefined

  constructor(
    execution: Execution,
    step: Step,
    attempt: number,
    services: StepServices,
    work: UnitOfWork,
    signal: AbortSignal,
    { given, finished = [], rendered }: AttemptOptions,
  ) {
    this.#execution = execution
    this.#step = step
    this.#attempt = attempt
    this.#services = services
    this.#work = work
    this.#signal = signal
    this.#given = given
    this.#finished = [...finished]
    this.#rendered = rendered
    this.#budget = new StepBudget(execution.input.stored.organization.id, execution)
  }

  render<T>(evaluate: Evaluate<T>, scope: TemplateScope): T | Promise<T> {
    return this.#services.renderer.render(evaluate, scope, this.#budget)
  }

  all(): StepOutcome | Promise<StepOutcome> {
    const { forEach } = this.#step
    if (forEach) return this.#each(forEach).then(done, (error: unknown) => this.#stopped(error))
    const result = this.#once(undefined, 0)
    return isPromise(result) ? result.then(done, failed) : { ok: true, result }
  }

  async #each(forEach: Evaluate<Json[]>): Promise<unknown[]> {
    const items = await this.render(forEach, this.#execution.scope)
    if (this.#given && this.#given.length !== items.length) {
      const message = `What was approved is for ${this.#given.length} elements, and the step has ${items.length}.`
      throw new AppError("failed_precondition", message, { reason: "cannot_be_gated", retryable: false })
    }
    const results = this.#finished
    for (const [index, item] of items.entries()) if (index >= results.length) results.push((await this.#once(item, index)) as Json)
    return results
  }

  #stopped(error: unknown): StepOutcome {
    const notTried = error instanceof AppError && error.notTried
    return notTried && this.#finished.length > 0 ? { ok: false, error, finished: this.#finished } : failed(error)
  }

  #once(item: Json | undefined, index: number): unknown {
    if (this.#given) return this.#run(this.#given[index], item, index)
    if (this.#rendered?.index === index) return this.#run(this.#rendered.config, item, index)
    const { scope } = this.#execution
    const config = this.render(this.#step.config, item === undefined ? scope : { ...scope, item })
    return config instanceof Promise ? config.then((rendered) => this.#run(rendered, item, index)) : this.#run(config, item, index)
  }

  #run(config: unknown, item: Json | undefined, index: number): unknown {
    const { action } = this.#step
    return action.run({
      config,
      deps: this.#services.depsOf(action),
      context: this.#execution.context(this.#step, item, index, this.#attempt, this.#signal),
      work: this.#work,
      reply: (reply: Reply) => {
        this.#execution.reply = reply
      },
      warn: (warning: StepWarning) => this.#execution.warn(warning),
    })
  }
}

/** Retries until success, a permanent failure or an abort. Only for awaited steps, because the job retries deferred steps. */
export async function runWithRetries(
  execution: Execution,
  step: Step,
  services: StepServices,
  work: UnitOfWork,
): Promise<{ outcome: StepOutcome; attempts: number }> {
  const { clock } = services
  const started = clock.monotonic()
  let finished: readonly Json[] | undefined
  for (let attempt = 1; ; attempt++) {
    const outcome = await withDeadline(step, execution.signal, clock, (signal) =>
      attemptStep(execution, step, attempt, services, work, signal, { finished }),
    )
    const waitMs = outcome.ok ? undefined : untriedMs(outcome.error)
    if (!outcome.ok && waitMs !== undefined) {
      // The sender waits for the reply, so the total wait is limited to the step's timeout.
      if (clock.monotonic() - started + waitMs > step.timeoutMs) return { outcome, attempts: attempt - 1 }
      finished = outcome.finished ?? finished
      await sleep(clock, waitMs, execution.signal)
      if (execution.signal.aborted) return { outcome, attempts: attempt - 1 }
      attempt--
      continue
    }
    if (outcome.ok || attempt >= step.retry.max_attempts || outcome.error.details["retryable"] === false || execution.signal.aborted)
      return { outcome, attempts: attempt }
    await sleep(clock, services.backoff(step.retry, attempt), execution.signal)
    if (execution.signal.aborted) return { outcome, attempts: attempt }
  }
}

/**
 * Fails with `deadline_exceeded` at the step's timeout, even if the action ignores the signal. An action that heeds the signal at
 * once may return a permanent error instead. It may already have had an effect.
 */
export async function withDeadline(
  step: Step,
  parent: AbortSignal,
  clock: Clock,
  run: (signal: AbortSignal) => StepOutcome | Promise<StepOutcome>,
): Promise<StepOutcome> {
  const controller = new AbortController()
  let expire: (outcome: StepOutcome) => void = () => {}
  const expired = new Promise<StepOutcome>((resolve) => {
    expire = resolve
  })
  let over: StepOutcome | undefined
  const abort = (reason: AppError) => {
    over = { ok: false, error: reason }
    controller.abort(reason)
    setImmediate(() => expire({ ok: false, error: reason }))
  }
  const stopped = () => abort(asAppError(parent.reason))
  parent.addEventListener("abort", stopped, { once: true })
  const cancel = clock.after(step.timeoutMs, () =>
    abort(new AppError("deadline_exceeded", `The step timed out after ${step.timeoutMs} ms.`, { reason: "attempt_timeout" })),
  )
  try {
    const outcome = await Promise.race([run(controller.signal), expired])
    return over && !outcome.ok && outcome.error.details["retryable"] !== false ? over : outcome
  } finally {
    cancel()
    parent.removeEventListener("abort", stopped)
  }
}

/** Consequence of a permanent failure: the execution fails, or a handler runs. */
export interface StepFailure extends Failure {
  readonly handler: Step | undefined
}

/** Records the outcome of a step. Returns the consequence of a failure, or undefined. */
export function recordOutcome(
  execution: Execution,
  step: Step,
  outcome: StepOutcome,
  attempts: number,
  startedMs: number,
  clock: Clock,
): StepFailure | undefined {
  const duration = Math.round((clock.monotonic() - startedMs) * 1_000) / 1_000
  if (outcome.ok) {
    if ("skipped" in outcome) execution.skipped(step)
    else if ("pending" in outcome) execution.pending(step)
    else execution.finished(step, attempts, duration, outcome.result)
    return undefined
  }
  const { error } = outcome
  const { code, message } = error
  execution.failed(step, attempts, duration, { code, message })
  if (step.onError === "continue") return undefined
  const handler = step.onError === "fail" ? undefined : execution.input.graph.handlers.get(step.onError.handler)
  return { code, message, step: step.id, error, handler }
}

export function isPromise(value: unknown): value is Promise<unknown> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function"
}
