// Runs the part of a graph before the reply. Steps that only stage writes run in a plain loop. If a step waits for an external
// service, each step starts as soon as its needs are finished, concurrently.
import type { Gatekeeper } from "../../contract/gate.ts"
import type { Step } from "../graph.ts"
import type { Execution, Failure } from "./execution.ts"
import { refuseAwaited } from "./gated-step.ts"
import type { Intents } from "./intents.ts"
import { attemptStep, isPromise, recordOutcome, runWithRetries, type StepOutcome, type StepServices } from "./step.ts"

export interface ImmediateServices extends StepServices {
  readonly intents: Intents
  /** Undefined if no plugin provides approvals. */
  readonly keeper?: () => Gatekeeper | undefined
}

/** Returns the failure of the execution, or null. Marks deferred steps as pending, or as skipped after a handled failure. */
export function runImmediate(execution: Execution, services: ImmediateServices): Failure | null | Promise<Failure | null> {
  const { graph } = execution.input
  const finish = (failure: Failure | null) => {
    if (failure === null) for (const step of graph.deferred) markDeferred(execution, step, services)
    return failure
  }
  const first = graph.immediate.findIndex((step) => step.action.timing === "deferred" || step.forEach !== null)
  for (const [index, step] of graph.immediate.entries()) {
    if (index === first) return runConcurrently(execution, graph.immediate.slice(index), services).then(finish)
    const started = services.clock.monotonic()
    const outcome = attemptStep(execution, step, 1, services, execution.work, execution.signal)
    if (isPromise(outcome)) {
      return outcome
        .then((settled) => settle(execution, step, settled, 1, started, services))
        .then((failure) => failure ?? runConcurrently(execution, graph.immediate.slice(index + 1), services))
        .then(finish)
    }
    const failure = settle(execution, step, outcome, 1, started, services)
    if (isPromise(failure)) {
      return failure.then((bad) => bad ?? runConcurrently(execution, graph.immediate.slice(index + 1), services)).then(finish)
    }
    if (failure) return failure
    // A deferred handler has the failure. Dependents of the failed step are skipped.
    if (!outcome.ok && step.onError !== "continue")
      return runConcurrently(execution, graph.immediate.slice(index + 1), services).then(finish)
  }
  return finish(null)
}

/** Starts each step after its needs. Starts no further steps after the first failure. */
async function runConcurrently(execution: Execution, steps: readonly Step[], services: ImmediateServices): Promise<Failure | null> {
  const waiting = new Set(steps)
  const running = new Map<string, Promise<Failure | null>>()
  let failure: Failure | null = null
  while (waiting.size > 0 || running.size > 0) {
    for (const step of failure ? [] : [...waiting]) {
      if (step.needs.some((need) => !(need in execution.steps) && execution.input.graph.byId.has(need))) continue
      waiting.delete(step)
      running.set(step.id, runAwaited(execution, step, services))
    }
    if (running.size === 0) break
    const [id, result] = await Promise.race([...running].map(async ([name, promise]) => [name, await promise] as const))
    running.delete(id)
    failure ??= result
  }
  return failure
}

async function runAwaited(execution: Execution, step: Step, services: ImmediateServices): Promise<Failure | null> {
  const after = behindHandled(execution, step)
  if (after !== undefined) {
    execution.skipped(step, after)
    return null
  }
  const started = services.clock.monotonic()
  if (step.action.timing !== "deferred") {
    return settle(execution, step, await attemptStep(execution, step, 1, services, execution.work, execution.signal), 1, started, services)
  }
  const refused = services.rehearse ? undefined : await refuseAwaited(execution, step, services.keeper?.())
  if (refused) return settle(execution, step, { ok: false, error: refused }, 0, started, services)
  const earlier = await services.intents.begin(execution, step)
  if (earlier) return settle(execution, step, { ok: true, result: earlier.result }, 0, started, services)
  const { outcome, attempts } = await runWithRetries(execution, step, services, execution.work)
  if (outcome.ok && "result" in outcome) services.intents.finish(execution, step, outcome.result)
  return settle(execution, step, outcome, attempts, started, services)
}

/** Records the outcome. For a failure it fails the execution, continues or runs the handler, according to the step. */
function settle(
  execution: Execution,
  step: Step,
  outcome: StepOutcome,
  attempts: number,
  started: number,
  services: ImmediateServices,
): Failure | null | Promise<Failure | null> {
  const failure = recordOutcome(execution, step, outcome, attempts, started, services.clock)
  if (!failure) return null
  const { handler } = failure
  if (!handler) return failure
  if (handler.deferred) {
    execution.pending(handler)
    return null
  }
  return runAwaited(execution, handler, services)
}

/** Returns the earlier step with a handled failure. Dependents of that step are skipped. */
export function behindHandled(execution: Execution, step: Step): string | undefined {
  const { byId } = execution.input.graph
  for (const id of step.needs) {
    const need = byId.get(id)
    if (!need) continue
    const state = execution.steps[id]?.state
    if (state === "failed" && typeof need.onError === "object") return id
    const after = state === "skipped" ? behindHandled(execution, need) : undefined
    if (after !== undefined) return after
  }
  return undefined
}

function markDeferred(execution: Execution, step: Step, services: StepServices): void {
  const after = behindHandled(execution, step)
  if (after !== undefined) execution.skipped(step, after)
  else if (!(step.id in execution.steps)) {
    if (isUnwanted(execution, step, services)) execution.skipped(step)
    else execution.pending(step)
  }
}

/**
 * Returns true if the step's condition is already false, so the step needs no job. A condition with unknown values or a long
 * render is left to the job.
 */
function isUnwanted(execution: Execution, step: Step, services: StepServices): boolean {
  if (step.when === null || step.needs.some((need) => execution.steps[need]?.state === "pending")) return false
  return services.renderer.renderNow(step.when, execution.scope, execution.input.stored.organization.id, execution)?.value === false
}
