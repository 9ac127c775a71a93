// Finds mistakes that Liquid accepts with another meaning. Examples are words after the end of an expression, an operator without
// an operand, and an unknown filter after a known filter. The check runs before Liquid's parser and suggests a remedy.
import { defaultOperators, type FilteredValueToken, type TagToken, type Token, Tokenizer, TypeGuards } from "liquidjs"
import { AppError } from "../../kernel/errors.ts"
import { didYouMean } from "../../kernel/guess.ts"
import { knownFilters, knownTags, liquid } from "./liquid.ts"

const { isOperatorToken, isPropertyAccessToken, isOutputToken, isTagToken } = TypeGuards

/** Returns the problems of an expression as text. A valid expression has no problems. */
export function expressionProblems(text: string): string[] {
  if (text.trim() === "") return ["The expression is empty."]
  return problemsBetween(text, 0, text.length)
}

/** Maximum outputs and tags of a template. */
const maxParts = 1_000
const maxFilters = 50
/** Maximum problems of a template. A template with more problems is probably not a template. */
const maxProblems = 10

/** Returns the problems of a text with `{{ }}` and `{% %}` in it. */
export function templateProblems(text: string): string[] {
  const problems: string[] = []
  // Counts in the text, because parsing is slow.
  const parts = text.split(/\{\{|\{%/, maxParts + 2).length - 1
  if (parts > maxParts)
    return [`The template holds more than ${maxParts} outputs and tags. Use a loop, or compute the text in the transform.`]
  try {
    for (const token of new Tokenizer(text, liquid.options.operators).readTopLevelTokens(liquid.options)) {
      if (isOutputToken(token)) problems.push(...outputProblems(text, token.contentRange))
      else if (isTagToken(token)) problems.push(...tagProblems(token))
      if (problems.length > maxProblems) return [...problems.slice(0, maxProblems), "More of this template cannot be parsed."]
    }
  } catch (error) {
    problems.push(sentence(error))
  }
  return problems
}

/** Returns Liquid's message without the position in the snippet. The finding has its own place. */
export function sentence(error: unknown): string {
  const original = error instanceof Error && "originalError" in error ? error.originalError : error
  if (original instanceof AppError) return original.message
  const message = (original instanceof Error ? original.message : String(original)).replace(/, line:\d+, col:\d+.*$/s, "").trim()
  return `${message.charAt(0).toUpperCase()}${message.slice(1)}${message.endsWith(".") ? "" : "."}`
}

function outputProblems(text: string, [begin, end]: [number, number]): string[] {
  const source = text.slice(begin, end)
  return source.trim() === "" ? ["{{ }} holds no expression."] : problemsBetween(source, 0, source.length)
}

function tagProblems(token: TagToken): string[] {
  if (!knownTags.has(token.name)) {
    return [`The tag {% ${token.name} %} cannot be used here.${didYouMean(token.name, [...knownTags])}`]
  }
  if (["if", "unless", "elsif", "case"].includes(token.name)) return expressionProblems(token.args)
  if (token.name !== "assign") return []
  const equals = token.args.indexOf("=")
  return equals < 0 ? [] : expressionProblems(token.args.slice(equals + 1))
}

function problemsBetween(text: string, begin: number, end: number): string[] {
  if (/\|\|/.test(text.slice(begin, end).replaceAll(/'[^']*'|"[^"]*"/g, ""))) return ['"||" is not an operator here. Write "or".']
  const tokenizer = new Tokenizer(text, defaultOperators, undefined, [begin, end])
  try {
    const value: FilteredValueToken = tokenizer.readFilteredValue()
    if (value.filters.length > maxFilters) return [`An expression may have at most ${maxFilters} filters.`]
    const problems = value.filters
      .filter((filter) => !knownFilters.includes(filter.name))
      .map((filter) => `The filter "${filter.name}" does not exist.${didYouMean(filter.name, knownFilters)}`)
    const order = orderProblem(value.initial.postfix, text)
    if (order) problems.push(order)
    tokenizer.skipBlank()
    if (!tokenizer.end()) problems.push(`"${excerpt(text.slice(tokenizer.p, end))}" after the end of the expression would be ignored.`)
    if (/\|\s*$/.test(text.slice(begin, end))) problems.push('The expression ends with "|"; a filter is missing.')
    return problems
  } catch (error) {
    const rest = text.slice(tokenizer.p > 0 ? tokenizer.p - 1 : 0, end).trim()
    if (/^\s*!(?!=)/.test(text.slice(begin, end))) return [`"!" is not an operator here.${operatorHint("!")}`]
    if (error instanceof Error && error.message.startsWith('expected "|"')) {
      return [`"${excerpt(rest)}" after the end of the expression cannot be parsed.${operatorHint(rest)}`]
    }
    return [sentence(error)]
  }
}

/** Common mistakes of people who know other languages. */
const meant: readonly (readonly [RegExp, string])[] = [
  [/^.?&&/, 'Write "and".'],
  [/^.?!(?!=)|\s!(?!=)/, 'Write "x == false", or "not x".'],
  [/^.?===/, 'Write "==".'],
  [/^.?=(?!=)/, 'To compare, write "==".'],
  [/^.?\?/, 'The operator "? :" does not exist; use {% if %}, or the filter "default".'],
]

function operatorHint(rest: string): string {
  const found = meant.find(([form]) => form.test(rest))
  return found ? ` ${found[1]}` : ""
}

/** Requires alternating operands and operators. Liquid evaluates a prefix and ignores the rest. */
function orderProblem(postfix: readonly Token[], text: string): string | undefined {
  const tokens = [...postfix].sort((a, b) => a.begin - b.begin)
  let wantsOperand = true
  for (const token of tokens) {
    const name = text.slice(token.begin, token.end)
    if (!isOperatorToken(token)) {
      if (!wantsOperand) return `"${excerpt(text.slice(token.begin).trim())}" after the end of the expression would be ignored.`
      wantsOperand = false
      const inside = bracketProblem(token, text)
      if (inside) return inside
    } else if (token.operator === "not") {
      if (!wantsOperand) return `"not" needs an operator before it.`
    } else {
      if (wantsOperand) return `"${name}" has no left operand.`
      wantsOperand = true
    }
  }
  return wantsOperand && tokens.length > 0 ? `The expression ends with an operator; a value is missing.` : undefined
}

function bracketProblem(token: Token, text: string): string | undefined {
  if (!isPropertyAccessToken(token)) return undefined
  for (const prop of token.props) {
    const bracketed = text.slice(0, prop.begin).trimEnd().endsWith("[")
    if (bracketed && !text.slice(prop.end).trimStart().startsWith("]")) {
      return `"[${excerpt(text.slice(prop.begin).trim())}" must hold one value between its brackets.`
    }
  }
  return undefined
}

function excerpt(text: string): string {
  return text.length > 40 ? `${text.slice(0, 40)}...` : text
}
