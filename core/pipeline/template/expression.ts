// Compiles a Liquid expression. Paths, constants and comparisons of plain values become closures. Liquid evaluates only filters,
// ranges and computed indexes for each event.
import { Context, type Token, TypeGuards, toValue, toValueSync, Value } from "liquidjs"
import { AppError } from "../../kernel/errors.ts"
import type { Evaluate } from "../graph.ts"
import { expressionProblems, sentence } from "./check.ts"
import { contextOf, liquid } from "./liquid.ts"
import { keyUnits, meter } from "./meter.ts"
import { chargedOperators } from "./operators.ts"
import { fixedPath, type Read, readsOfValue } from "./reads.ts"

// Caches compiled templates by text, because pipelines repeat each other's templates (`{{ event.email }}`). A compiled template
// has no data of its document, so documents can share it.

/** Longer texts rarely repeat. */
const maxTextLength = 500
const maxKept = 2_000

/** `compile` must be deterministic. Its results are shared, so they must be immutable. */
export function keptByText<T>(compile: (text: string) => T): (text: string) => T {
  const kept = new Map<string, T>()
  return (text) => {
    const known = kept.get(text)
    if (known !== undefined) return known
    const compiled = compile(text)
    if (text.length > maxTextLength) return compiled
    // Evicts the oldest entry. Documents in use keep their own references.
    if (kept.size >= maxKept) for (const oldest of kept.keys()) if (kept.delete(oldest)) break
    kept.set(text, compiled)
    return compiled
  }
}

export type Compiled<T> =
  | { readonly ok: true; readonly evaluate: Evaluate<T>; readonly reads: readonly Read[] }
  | { readonly ok: false; readonly problems: readonly string[] }

/** Compiles a bare expression such as `event.budget >= 1000 and event.email contains "@"`. A missing value is null. */
export const compileExpression = keptByText((text): Compiled<unknown> => {
  if (/\{\{|\{%/.test(text)) return { ok: false, problems: [`Write the expression bare, without {{ }}: ${bare(text)}`] }
  const problems = expressionProblems(text)
  if (problems.length > 0) return { ok: false, problems }
  try {
    const value = new Value(text, liquid)
    const reads = readsOfValue(value)
    return { ok: true, evaluate: continued("expression", text, reads, evaluatorOf(value)), reads }
  } catch (error) {
    return { ok: false, problems: [sentence(error)] }
  }
})

/** Source text of an evaluator, so another thread can compile it again. */
export interface Source {
  readonly kind: "expression" | "text"
  readonly text: string
  readonly reads: readonly Read[]
}

const sources = new WeakMap<object, Source>()

export function sourceOf(evaluate: object): Source | undefined {
  return sources.get(evaluate)
}

/** Wraps an evaluator. If a render continues from an earlier turn, it returns the earlier result. */
export function continued<T>(kind: Source["kind"], text: string, reads: readonly Read[], evaluate: Evaluate<T>): Evaluate<T> {
  const self: Evaluate<T> = (scope) => {
    const { results } = meter
    if (results === undefined) return meter.rendered(evaluate(scope))
    if (results.has(self)) return results.get(self) as T
    meter.current = self
    const result = meter.rendered(evaluate(scope))
    results.set(self, result)
    return result
  }
  sources.set(self, { kind, text, reads })
  return self
}

/** Returns an evaluator of a parsed value. The result is JSON or null. */
export function evaluatorOf(value: Value): Evaluate<unknown> {
  const direct = value.filters.length === 0 ? closureOf(value.initial.postfix) : undefined
  const evaluate = direct ?? throughLiquid(value)
  return checked(evaluate)
}

function checked(evaluate: Evaluate<unknown>): Evaluate<unknown> {
  return (scope) => jsonOf(evaluate(scope))
}

const { isOperatorToken, isLiteralToken, isNumberToken, isQuotedToken } = TypeGuards

/** Operators read only `opts`, so all evaluations share a context. */
const operatorContext = new Context({}, liquid.options, { sync: true })

function closureOf(postfix: readonly Token[]): Evaluate<unknown> | undefined {
  const stack: Evaluate<unknown>[] = []
  for (const token of postfix) {
    if (isOperatorToken(token)) {
      const right = stack.pop()
      const left = token.operator === "not" ? undefined : stack.pop()
      if (!right || (token.operator !== "not" && !left)) return undefined
      stack.push(operation(token.operator, left, right))
    } else {
      const operand = operandOf(token)
      if (!operand) return undefined
      stack.push(operand)
    }
  }
  return stack.length === 1 ? stack[0] : undefined
}

function operandOf(token: Token): Evaluate<unknown> | undefined {
  if (isLiteralToken(token) || isNumberToken(token) || isQuotedToken(token)) {
    const constant: unknown = token.content
    return () => constant
  }
  const path = fixedPath(token)
  return path && ((scope) => lookup(scope, path))
}

function operation(operator: string, left: Evaluate<unknown> | undefined, right: Evaluate<unknown>): Evaluate<unknown> {
  if (!left) return (scope) => !truthy(right(scope))
  if (operator === "and") return (scope) => truthy(left(scope)) && truthy(right(scope))
  if (operator === "or") return (scope) => truthy(left(scope)) || truthy(right(scope))
  const general = chargedOperators[operator] as (l: unknown, r: unknown, context: Context) => IterableIterator<unknown>
  return (scope) => {
    const l = left(scope)
    const r = right(scope)
    if (typeof l === "number" && typeof r === "number") return comparison(operator, l, r) ?? toValueSync(general(l, r, operatorContext))
    return toValueSync(general(l, r, operatorContext))
  }
}

function comparison(operator: string, l: number, r: number): boolean | undefined {
  switch (operator) {
    case ">=":
      return l >= r
    case "<=":
      return l <= r
    case ">":
      return l > r
    case "<":
      return l < r
    case "==":
      return l === r
    case "!=":
      return l !== r
    default:
      return undefined
  }
}

/** Truth in Liquid: every value except false and null. */
function truthy(value: unknown): boolean {
  const plain: unknown = toValue(value)
  return plain !== false && plain !== null && plain !== undefined
}

function throughLiquid(value: Value): Evaluate<unknown> {
  return (scope) => {
    try {
      return toValueSync(value.value(contextOf(scope)) as IterableIterator<unknown>)
    } catch (error) {
      throw new AppError("failed_precondition", sentence(error), { reason: "template_failed", retryable: false }, { cause: error })
    }
  }
}

function jsonOf(result: unknown): unknown {
  const plain: unknown = toValue(result)
  if (plain === undefined) return null
  if (typeof plain === "number" && !Number.isFinite(plain)) {
    throw new AppError("failed_precondition", `The expression gave ${plain}, which JSON cannot represent.`, { reason: "template_failed" })
  }
  return plain
}

function bare(text: string): string {
  return text.replace(/^\s*\{\{-?\s*|\s*-?\}\}\s*$/g, "").slice(0, 80)
}

// Reads a path like Liquid: own properties only, and negative indexes from the end. `size`, `first` and `last` are built in
// unless the value has an own key of that name. Most templates are a single path and use this for every event.

function lookup(scope: unknown, path: readonly (string | number)[]): unknown {
  let value = scope
  for (const key of path) {
    if (value === null || value === undefined) return undefined
    value = property(value, key)
  }
  return value
}

function property(holder: unknown, key: string | number): unknown {
  if (Array.isArray(holder)) {
    if (typeof key === "number") return holder.at(key)
    if (key === "first") return holder[0]
    if (key === "last") return holder.at(-1)
    if (key === "size") return holder.length
  }
  const object = Object(holder) as Record<string, unknown>
  if (Object.hasOwn(object, key)) return object[key]
  if (key !== "size") return undefined
  if (typeof holder !== "object" || holder === null) return typeof holder === "string" ? holder.length : undefined
  const { length } = Object.keys(holder)
  meter.spend(keyUnits * length)
  return length
}
