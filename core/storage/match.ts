// Matches documents against a checked filter, with MongoDB's rules for the port's subset.
// - A path enters the objects of lists on its way. A number in a path is also a position in a list.
// - A list at the end of a path counts as itself and as each of its elements.
// - null equals absent. Other values equal only their own type. $gt and similar operators compare within a type.
// - Objects are equal if they have the same fields in the same order. Text is ordered by code point.
import type { Json } from "../contract/collection.ts"
import type { Filter } from "../contract/store.ts"
import { isConditions } from "./filter.ts"

export type Value = Json | undefined
type Test = (value: Value) => boolean
export type Matcher = (document: Value) => boolean

/** Compiles a filter for many documents. */
export function matcher(filter: Filter): Matcher {
  const tests: Matcher[] = []
  for (const [key, condition] of Object.entries(filter)) {
    if (key === "$and") tests.push(...(condition as readonly Filter[]).map(matcher))
    else if (key === "$or") tests.push(anyOf((condition as readonly Filter[]).map(matcher)))
    else tests.push(conditionAt(key.split("."), condition as Json))
  }
  return allOf(tests)
}

function conditionAt(path: readonly string[], condition: Json): Matcher {
  if (!isConditions(condition)) return somewhere(path, equals(condition))
  return allOf(Object.entries(condition).map(([operator, operand]) => operation(path, operator, operand as Json)))
}

function operation(path: readonly string[], operator: string, operand: Json): Matcher {
  switch (operator) {
    case "$eq":
      return somewhere(path, equals(operand))
    case "$ne":
      return not(somewhere(path, equals(operand)))
    case "$in":
      return somewhere(path, oneOf(operand as Json[]))
    case "$nin":
      return not(somewhere(path, oneOf(operand as Json[])))
    case "$exists": {
      const present = somewhere(path, (value) => value !== undefined)
      return operand === true ? present : not(present)
    }
    case "$not":
      return not(conditionAt(path, operand))
    default:
      return somewhere(path, compares(operator, operand))
  }
}

const not =
  (test: Matcher): Matcher =>
  (document) =>
    !test(document)

function allOf(tests: readonly Matcher[]): Matcher {
  const [first] = tests
  if (tests.length === 1 && first) return first
  return (document) => tests.every((test) => test(document))
}

function anyOf(tests: readonly Matcher[]): Matcher {
  return (document) => tests.some((test) => test(document))
}

function somewhere(path: readonly string[], test: Test): Matcher {
  return (document) => reaches(document, path, 0, test)
}

/** Returns true if any value at the path passes. An absent value is tested as undefined. */
function reaches(value: Value, path: readonly string[], at: number, test: Test): boolean {
  const segment = path[at]
  if (segment === undefined) return test(value) || (Array.isArray(value) && value.some(test))
  if (Array.isArray(value)) return reachesInList(value, path, at, test)
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, segment)) return test(undefined)
  return reaches(value[segment], path, at + 1, test)
}

function reachesInList(list: readonly Json[], path: readonly string[], at: number, test: Test): boolean {
  const segment = path[at] ?? ""
  for (const element of list) {
    if (typeof element === "object" && element !== null && !Array.isArray(element) && reaches(element, path, at, test)) return true
  }
  if (!/^(?:0|[1-9]\d*)$/.test(segment)) return false
  const index = Number(segment)
  if (index >= list.length) return false
  // The position selects the element itself. A path that ends here does not enter the element.
  return at + 1 === path.length ? test(list[index]) : reaches(list[index], path, at + 1, test)
}

function equals(operand: Json): Test {
  if (operand === null) return (value) => value === null || value === undefined
  if (typeof operand !== "object") return (value) => value === operand
  return (value) => same(value, operand)
}

function oneOf(operands: readonly Json[]): Test {
  const values = new Set<Value>(operands)
  if (values.has(null)) values.add(undefined)
  return (value) => values.has(value)
}

function compares(operator: string, operand: Json): Test {
  if (operand === null) return operator === "$gte" || operator === "$lte" ? (value) => value === null || value === undefined : () => false
  const type = typeof operand
  const order = typeof operand === "string" ? (value: Value) => compareText(value as string, operand) : numericOrder(operand)
  if (operator === "$gt") return (value) => typeof value === type && order(value) > 0
  if (operator === "$gte") return (value) => typeof value === type && order(value) >= 0
  if (operator === "$lt") return (value) => typeof value === type && order(value) < 0
  return (value) => typeof value === type && order(value) <= 0
}

function numericOrder(operand: Json): (value: Value) => number {
  const against = Number(operand)
  // A subtraction could overflow.
  return (value) => (Number(value) > against ? 1 : Number(value) < against ? -1 : 0)
}

/** Orders by code point, equal to the order of UTF-8 bytes. JavaScript orders by UTF-16 unit. */
export function compareText(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const [x, y] = [a.charCodeAt(i), b.charCodeAt(i)]
    if (x === y) continue
    const [xHigh, yHigh] = [x >= 0xd800 && x <= 0xdfff, y >= 0xd800 && y <= 0xdfff]
    return xHigh === yHigh ? x - y : xHigh ? 1 : -1
  }
  return a.length - b.length
}

export function same(a: Value, b: Value): boolean {
  if (a === b) return true
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false
  if (Array.isArray(a) || Array.isArray(b)) {
    return Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((value, index) => same(value, b[index]))
  }
  const [keys, others] = [Object.keys(a), Object.keys(b)]
  return keys.length === others.length && keys.every((key, index) => key === others[index] && same(a[key], b[key]))
}
