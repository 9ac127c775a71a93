// Builds the steps of a graph from drafts. Resolves deadlines and retries, and makes conditions and lists strict.
import type { Json } from "../../contract/collection.ts"
import { defaultRetry, type RetryPolicy } from "../../contract/job.ts"
import { AppError } from "../../kernel/errors.ts"
import { kindOf } from "../../kernel/zod-problems.ts"
import type { Evaluate, Step } from "../graph.ts"
import type { Draft } from "./steps.ts"

/** Maximum elements of `for_each`. */
const maxElements = 1_000

const timeouts = { commit: 5_000, awaited: 10_000, deferred: 60_000 }

export function timeoutOf(draft: Draft, deferred: boolean): number {
  if (draft.common.timeout_ms !== undefined) return draft.common.timeout_ms
  if (deferred) return timeouts.deferred
  return draft.action?.timing === "deferred" ? timeouts.awaited : timeouts.commit
}

/** Returns undefined if the draft's action or config is invalid. That problem is already reported. */
export function buildStep(draft: Draft, needs: readonly string[], deferred: boolean): Step | undefined {
  const { action, config, common } = draft
  if (!action || !config) return undefined
  const onError = common.on_error ?? "fail"
  return {
    id: draft.id,
    action,
    index: draft.index,
    pointer: draft.pointer,
    needs,
    deferred,
    when: draft.when ? condition(draft.when.evaluate, draft.id) : null,
    forEach: draft.forEach ? elements(draft.forEach.evaluate, draft.id) : null,
    onError: onError === "fail" || onError === "continue" ? onError : { handler: onError },
    retry: retryOf(draft, deferred),
    timeoutMs: timeoutOf(draft, deferred),
    config: config.evaluate,
    gated: common.gate === true,
  }
}

/** A sender waits before the reply, so an immediate step retries only if the document requests it. */
function retryOf({ common }: Draft, deferred: boolean): RetryPolicy {
  const given = common.retry
  return {
    max_attempts: given?.max_attempts ?? (deferred ? defaultRetry.max_attempts : 1),
    initial_delay_ms: given?.initial_delay_ms ?? defaultRetry.initial_delay_ms,
    factor: given?.factor ?? defaultRetry.factor,
    max_delay_ms: given?.max_delay_ms ?? defaultRetry.max_delay_ms,
  }
}

/** Null counts as false, because the step with the value may have been skipped. */
function condition(evaluate: Evaluate<unknown>, id: string): Evaluate<boolean> {
  return (scope) => {
    const result = evaluate(scope)
    if (typeof result === "boolean") return result
    if (result === null) return false
    throw misfit(id, "when", `must yield true or false; it gave ${kindOf(result)}. Compare it with something.`)
  }
}

function elements(evaluate: Evaluate<unknown>, id: string): Evaluate<Json[]> {
  return (scope) => {
    const result = evaluate(scope)
    if (result === null) return []
    if (!Array.isArray(result)) throw misfit(id, "for_each", `must give a list; it gave ${kindOf(result)}.`)
    if (result.length > maxElements) throw misfit(id, "for_each", `gave ${result.length} elements; the limit is ${maxElements}.`)
    return result as Json[]
  }
}

function misfit(id: string, field: string, message: string): AppError {
  const text = `"${field}" of the step "${id}" ${message}`
  return new AppError("failed_precondition", text, {
    reason: "invalid_expression_value",
    retryable: false,
    fields: [{ path: field, message }],
  })
}
