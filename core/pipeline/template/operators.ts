// Liquid's operators. Each operator charges the meter before its comparison. Bare expressions and tags share them.
import { Drop, defaultOperators, type Operators } from "liquidjs"
import { keyUnits, meter, weightOf } from "./meter.ts"

type Comparison = (left: unknown, right: unknown, ...rest: readonly unknown[]) => ReturnType<Operators[string]>

/** "and", "or" and "not" test the truth of a value and are free. */
const compares = (name: string) => !["and", "or", "not"].includes(name)

export const chargedOperators: Operators = Object.fromEntries(
  Object.entries(defaultOperators).map(([name, builtin]) => [name, compares(name) ? charged(name, builtin as Comparison) : builtin]),
)

function charged(name: string, builtin: Comparison): Comparison {
  return (left, right, ...rest) => {
    meter.spend(comparisonUnits(name, left, right))
    return builtin(left, right, ...rest)
  }
}

/** Returns the units of a comparison. A search costs text times pattern. A comparison of lists costs their members. */
export function comparisonUnits(name: string, left: unknown, right: unknown): number {
  if (name === "contains") return containmentUnits(left, right)
  if (name === "==" || name === "!=") return equalityUnits(left, right)
  return orderUnits(left, right)
}

/** Returns the units of a search for `pattern` in `text`. An object counts as its text form. */
export function searchUnits(text: unknown, pattern: unknown): number {
  const asText = (value: unknown) => (typeof value === "object" && value !== null ? weightOf(value) : 0)
  return asText(text) + asText(pattern) + (lengthOf(text) * lengthOf(pattern)) / 1_000
}

function lengthOf(value: unknown): number {
  if (typeof value === "string") return value.length
  return typeof value === "object" && value !== null ? 2 * weightOf(value) : 20
}

function containmentUnits(left: unknown, right: unknown): number {
  if (typeof left === "string") return 4 + left.length / 64 + searchUnits(left, right)
  return Array.isArray(left) ? weightOf(left) : 4
}

function equalityUnits(left: unknown, right: unknown): number {
  if (typeof left === "string" && typeof right === "string") return 4 + Math.min(left.length, right.length) / 64
  if (Array.isArray(left) && Array.isArray(right)) return left.length === right.length ? weightOf(left) : 4
  return 4 + emptinessUnits(left, right) + emptinessUnits(right, left)
}

/** `empty` and `blank` count the keys of an object and read a text. */
function emptinessUnits(drop: unknown, value: unknown): number {
  if (!(drop instanceof Drop)) return 0
  if (typeof value === "string") return value.length / 8
  return typeof value === "object" && value !== null && !Array.isArray(value) ? keyUnits * Object.keys(value).length : 0
}

/** Order comparisons turn lists into text. */
function orderUnits(left: unknown, right: unknown): number {
  if (typeof left === "string" && typeof right === "string") return 4 + Math.min(left.length, right.length) / 64
  return (Array.isArray(left) ? weightOf(left) : 4) + (Array.isArray(right) ? weightOf(right) : 4)
}
