// A Liquid expression, compiled: paths, constants and comparisons of plain values become closures; only what has
// filters, ranges or computed indexes is handed to Liquid for each event.
import { Context, defaultOperators, type Token, TypeGuards, toValue, toValueSync, Value } from "liquidjs"
import { AppError } from "../../kernel/errors.ts"
import type { Evaluate } from "../graph.ts"
import { expressionProblems, sentence } from "./check.ts"
import { keptByText } from "./kept.ts"
import { liquid } from "./liquid.ts"
import { lookup } from "./lookup.ts"
import { fixedPath, type Read, readsOfValue } from "./reads.ts"

export type Compiled<T> =
  | { readonly ok: true; readonly evaluate: Evaluate<T>; readonly reads: readonly Read[] }
  | { readonly ok: false; readonly problems: readonly string[] }

/** Compiles a bare expression such as `event.budget >= 1000 and event.email contains "@"`. Nothing found is null. */
export const compileExpression = keptByText((text): Compiled<unknown> => {
  if (/\{\{|\{%/.test(text)) return { ok: false, problems: [`Write the expression bare, without {{ }}: ${bare(text)}`] }
  const problems = expressionProblems(text)
  if (problems.length > 0) return { ok: false, problems }
  try {
    const value = new Value(text, liquid)
    return { ok: true, evaluate: evaluatorOf(value), reads: readsOfValue(value) }
  } catch (error) {
    return { ok: false, problems: [sentence(error)] }
  }
})

/** An evaluator of a parsed value; the result is JSON or null. */
export function evaluatorOf(value: Value): Evaluate<unknown> {
  const direct = value.filters.length === 0 ? closureOf(value.initial.postfix) : undefined
  const evaluate = direct ?? throughLiquid(value)
  return checked(evaluate)
}

function checked(evaluate: Evaluate<unknown>): Evaluate<unknown> {
  return (scope) => jsonOf(evaluate(scope))
}

const { isOperatorToken, isLiteralToken, isNumberToken, isQuotedToken } = TypeGuards

/** Operators look only at `opts`, so that one context serves all. */
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
  const general = defaultOperators[operator] as (l: unknown, r: unknown, context: Context) => IterableIterator<unknown>
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

/** Liquid's truth: everything but false and nothing. */
function truthy(value: unknown): boolean {
  const plain: unknown = toValue(value)
  return plain !== false && plain !== null && plain !== undefined
}

function throughLiquid(value: Value): Evaluate<unknown> {
  return (scope) => {
    try {
      return toValueSync(value.value(new Context(scope, liquid.options, { sync: true }, { liquid })) as IterableIterator<unknown>)
    } catch (error) {
      throw new AppError("failed_precondition", sentence(error), { reason: "template_failed", retryable: false }, { cause: error })
    }
  }
}

function jsonOf(result: unknown): unknown {
  const plain: unknown = toValue(result)
  if (plain === undefined) return null
  if (typeof plain === "number" && !Number.isFinite(plain)) {
    throw new AppError("failed_precondition", `The expression gave ${plain}, which no JSON can hold.`, { reason: "template_failed" })
  }
  return plain
}

function bare(text: string): string {
  return text.replace(/^\s*\{\{-?\s*|\s*-?\}\}\s*$/g, "").slice(0, 80)
}
