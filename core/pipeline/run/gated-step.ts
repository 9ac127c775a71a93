// A step with a gate. Its configs are rendered and filed once, then run exactly as approved.
import { isDeepStrictEqual } from "node:util"
import type { Json } from "../../contract/collection.ts"
import { gateOfAction } from "../../contract/declared-gates.ts"
import { type Gatekeeper, notApproved, targetChanged } from "../../contract/gate.ts"
import type { UnitOfWork } from "../../contract/unit-of-work.ts"
import { AppError } from "../../kernel/errors.ts"
import { derivedUuid } from "../../kernel/ids.ts"
import { literalConfig } from "../compile/config.ts"
import type { Step } from "../graph.ts"
import type { StepRecord } from "../journal/entry.ts"
import { StepBudget, type TemplateRenderer } from "../template/renderer.ts"
import type { Execution, Runnable } from "./execution.ts"
import type { StepServices } from "./step.ts"

export type GateState =
  /** The step needs no approval, or its condition is false. */
  | { readonly kind: "open" }
  | { readonly kind: "waits"; readonly approvalId: string; readonly expiresAt: string }
  | { readonly kind: "approved"; readonly configs: readonly unknown[] }
  | { readonly kind: "refused"; readonly error: AppError }

export interface GateArgs {
  readonly execution: Execution
  readonly step: Step
  readonly record: StepRecord
  readonly keeper: Gatekeeper | undefined
  readonly renderer: TemplateRenderer
  readonly depsOf: StepServices["depsOf"]
  /** Stages the filed approval. */
  readonly work: UnitOfWork
  readonly jobId: string
}

/** Returns true if the step may need approval: its author set `gate`, or an agent changed the pipeline. */
export function asksAtGate({ stored }: Pick<Runnable, "stored">, step: Step): boolean {
  return step.action.timing === "deferred" && (step.gated || (stored.agentFields?.length ?? 0) > 0)
}

/**
 * Refuses an awaited step of a pipeline with agent changes if its gate requires approval. An awaited step cannot wait for a
 * person.
 */
export async function refuseAwaited(execution: Execution, step: Step, keeper: Gatekeeper | undefined): Promise<AppError | undefined> {
  const { stored } = execution.input
  if (!keeper || !asksAtGate(execution.input, step) || !(await keeper.holds(stored.organization.id, step.action.type))) return undefined
  const message = `The step "${step.id}" runs before the reply and cannot wait for approval, and an agent changed the pipeline. Remove "await", or let a person save the pipeline.`
  return new AppError("failed_precondition", message, { reason: "awaited_step_gated", retryable: false })
}

/** Returns the gate state of the step. */
export async function gateState(args: GateArgs): Promise<GateState> {
  const { execution, step, record, keeper } = args
  const organization = execution.input.stored.organization.id
  if (!keeper) {
    if (!step.gated) return { kind: "open" }
    const message = `The step "${step.id}" waits for approval, and no plugin that keeps approvals is loaded.`
    return { kind: "refused", error: new AppError("failed_precondition", message, { reason: "approvals_not_loaded", retryable: false }) }
  }
  if (record.approval_id === undefined)
    return (await keeper.holds(organization, step.action.type)) ? await file(args, keeper) : { kind: "open" }
  const decision = await keeper.decision(organization, record.approval_id)
  if (decision.state === "pending") return { kind: "waits", approvalId: record.approval_id, expiresAt: decision.expires_at }
  if (decision.state === "approved") {
    const inputs = decision.input as Json[]
    const target = await targetOf(args, inputs)
    if (!isDeepStrictEqual(target, decision.target)) return { kind: "refused", error: targetChanged(record.approval_id, decision.target) }
    return { kind: "approved", configs: inputs.map((input, index) => literalConfig(step.action, input, String(index))) }
  }
  return { kind: "refused", error: notApproved(decision, record.approval_id) }
}

/** Returns the distinct targets of the runs. Null if the action's config is sufficient. */
async function targetOf({ execution, step, depsOf }: GateArgs, inputs: readonly unknown[]): Promise<Json> {
  const { action } = step
  if (!action.target) return null
  const organization = execution.input.stored.organization.id
  const found = new Map<string, Json>()
  for (const [index, input] of inputs.entries()) {
    const config = literalConfig(action, input as Json, String(index)) as never
    const target = await action.target(config, { organization, deps: depsOf(action) })
    found.set(JSON.stringify(target), target)
  }
  return [...found.values()]
}

async function file(args: GateArgs, keeper: Gatekeeper): Promise<GateState> {
  const { execution, step, work, renderer, jobId } = args
  const inputs = await renderedConfigs(execution, step, renderer)
  if (inputs === undefined || inputs.length === 0) return { kind: "open" }
  for (const [index, input] of inputs.entries()) {
    if (isDeepStrictEqual(literalConfig(step.action, input as Json, String(index)), input)) continue
    const message = `The action ${step.action.type} changes its own values when they are read again, so that nobody could approve exactly what it does.`
    return { kind: "refused", error: new AppError("failed_precondition", message, { reason: "cannot_be_gated", retryable: false }) }
  }
  const { stored, executionId } = execution.input
  const agent = stored.agentFields ?? []
  const changed = agent.length > 0 ? ` An agent changed ${agent.join(", ")} of the pipeline.` : ""
  const times = inputs.length === 1 ? "" : ` (${inputs.length} times)`
  const filed = keeper.file(work, stored.organization.id, derivedUuid(executionId, step.id, "approval"), {
    gate: gateOfAction(step.action),
    subject: { kind: "step", name: `${stored.slug}.${step.id}` },
    what: `${step.action.summary}${times}`,
    why: `Step "${step.id}" of the pipeline "${stored.slug}", execution ${executionId}.${changed}`,
    requester: { credential_id: null, user_id: null, surface: "internal" },
    input: inputs as Json,
    target: await targetOf(args, inputs),
    contents: step.action.contents ?? [],
    job: jobId,
  })
  return { kind: "waits", approvalId: filed.id, expiresAt: filed.expires_at }
}

/** Renders a config for each run of the step. Returns undefined if its condition is false. */
export async function renderedConfigs(execution: Execution, step: Step, renderer: TemplateRenderer): Promise<unknown[] | undefined> {
  const { scope, input } = execution
  const budget = new StepBudget(input.stored.organization.id, execution)
  if (step.when && !(await renderer.render(step.when, scope, budget))) return undefined
  const items = step.forEach && (await renderer.render(step.forEach, scope, budget))
  const configs: unknown[] = []
  for (const one of items ?? [undefined]) {
    const config = await renderer.render(step.config, one === undefined ? scope : { ...scope, item: one }, budget)
    configs.push(step.action.complete?.(config, one === undefined ? input.event : one) ?? config)
  }
  return configs
}
