// Checks filters, sorts and paging before any driver. Only the documented subset of the port is accepted. Anything else is
// `invalid_argument` with the path. Drivers can trust their input.
import type { Filter, Scalar, Sort } from "../contract/store.ts"
import { AppError } from "../kernel/errors.ts"
import { isPlainObject } from "../kernel/json.ts"

/** Maximum documents of a `find`. It is one more than the longest list, so a page can detect a next page. */
export const maxLimit = 10_001
const maxDepth = 32
const maxListed = 10_000
const maxPathSegments = 32

export type SortKeys = readonly (readonly [path: string, direction: 1 | -1])[]

/** Throws `invalid_argument` with collection and path if the filter exceeds the subset. */
export function checkFilter(collection: string, filter: Filter): void {
  checkFilterAt(collection, filter, "filter", 0)
}

/** Checks a dotted path: no empty segment, NUL, `$` or path to a prototype. */
export function checkPath(collection: string, path: string): void {
  const problem = pathProblem(path)
  if (problem !== undefined) throw invalid(collection, path, problem)
}

export function checkLimit(collection: string, limit: number, max: number): number {
  if (Number.isInteger(limit) && limit >= 1 && limit <= max) return limit
  throw invalid(collection, "limit", `is ${String(limit)}; give a whole number from 1 to ${max}`)
}

export function checkDeadline(collection: string, milliseconds: number): number {
  if (Number.isFinite(milliseconds) && milliseconds > 0) return milliseconds
  throw invalid(collection, "deadlineMs", `is ${String(milliseconds)}; give milliseconds above 0`)
}

/** Returns the total order of a sort: its own keys, then `id` in the direction of the last key. */
export function sortKeysOf(collection: string, sort: Sort): SortKeys {
  const keys: [string, 1 | -1][] = []
  for (const [path, direction] of Object.entries(sort)) {
    checkPath(collection, path)
    // SQL cannot sort by this name, and an error is better than a wrong order.
    if (/["\\]/.test(path)) throw invalid(collection, path, "cannot be sorted by: the name holds a quotation mark or a backslash")
    if (direction !== 1 && direction !== -1) throw invalid(collection, path, `is sorted by ${String(direction)}; use 1 or -1`)
    keys.push([path, direction])
    if (path === "id") return keys
  }
  keys.push(["id", keys.at(-1)?.[1] ?? 1])
  return keys
}

export function checkAfter(collection: string, after: readonly Scalar[], sort: SortKeys): void {
  if (!Array.isArray(after) || after.length !== sort.length) {
    const wanted = sort.map(([path]) => path).join(", ")
    throw invalid(collection, "after", `needs one value for each sort field (${wanted})`)
  }
  for (const [index, value] of after.entries()) {
    if (!isScalar(value)) throw invalid(collection, `after.${index}`, "must be null, a boolean, a finite number or text")
  }
}

export function isScalar(value: unknown): value is Scalar {
  return value === null || typeof value === "string" || typeof value === "boolean" || (typeof value === "number" && Number.isFinite(value))
}

/** Returns true if a filter value contains operators rather than a value to equal. */
export function isConditions(value: unknown): value is Record<string, unknown> {
  if (!isPlainObject(value)) return false
  for (const key in value) if (key.startsWith("$")) return true
  return false
}

export function invalid(collection: string, path: string, problem: string): AppError {
  return new AppError("invalid_argument", `${collection}: ${JSON.stringify(path)} ${problem}.`, {
    reason: "invalid_fields",
    collection,
    fields: [{ path, message: problem }],
  })
}

function pathProblem(path: string): string | undefined {
  if (path.includes("\0")) return "holds NUL; name a field"
  const segments = path.split(".")
  if (segments.length > maxPathSegments) return `has more than ${maxPathSegments} parts`
  for (const [index, segment] of segments.entries()) {
    if (segment === "") return "has an empty part; write it as field.field"
    if (segment.startsWith("$")) return 'has a part that starts with "$"; that is not a field'
    if (segment === "__proto__") return 'has the part "__proto__", which is not a field'
    if (segment === "prototype" && segments[index - 1] === "constructor")
      return 'has the part "constructor.prototype", which is not a field'
  }
  if (!path.isWellFormed()) return "holds half a character (a lone surrogate)"
  return undefined
}

function checkFilterAt(collection: string, filter: unknown, at: string, depth: number): void {
  if (!isPlainObject(filter)) throw invalid(collection, at, "is not a filter; give an object of paths and conditions")
  if (depth > maxDepth) throw invalid(collection, at, `is nested more than ${maxDepth} deep`)
  for (const [key, condition] of Object.entries(filter)) {
    if (key === "$and" || key === "$or") {
      if (!Array.isArray(condition) || condition.length === 0) throw invalid(collection, key, "needs a list of at least one filter")
      for (const [index, each] of condition.entries()) checkFilterAt(collection, each, `${key}.${index}`, depth + 1)
      continue
    }
    if (key.startsWith("$")) throw invalid(collection, key, "is not an operator here; $and, $or and paths are")
    checkPath(collection, key)
    if (isConditions(condition)) checkConditions(collection, key, condition, depth)
    else checkJson(collection, key, condition, depth)
  }
}

function checkConditions(collection: string, path: string, conditions: Record<string, unknown>, depth: number): void {
  if (depth > maxDepth) throw invalid(collection, path, `has $not nested more than ${maxDepth} deep`)
  for (const [operator, operand] of Object.entries(conditions)) checkOperator(collection, path, operator, operand, depth)
}

function checkOperator(collection: string, path: string, operator: string, operand: unknown, depth: number): void {
  switch (operator) {
    case "$eq":
    case "$ne":
      checkJson(collection, path, operand, depth)
      return
    case "$gt":
    case "$gte":
    case "$lt":
    case "$lte":
      if (!isScalar(operand)) throw invalid(collection, path, `${operator} compares with null, a boolean, a finite number or text`)
      return
    case "$in":
    case "$nin":
      if (!Array.isArray(operand) || !operand.every(isScalar)) throw invalid(collection, path, `${operator} needs a list of plain values`)
      if (operand.length > maxListed) throw invalid(collection, path, `${operator} lists more than ${maxListed} values`)
      return
    case "$exists":
      if (typeof operand !== "boolean") throw invalid(collection, path, "$exists needs true or false")
      return
    case "$not":
      if (!isConditions(operand)) throw invalid(collection, path, "$not needs operators, such as { $not: { $gt: 1 } }")
      checkConditions(collection, path, operand, depth + 1)
      return
    default:
      throw invalid(collection, path, `is compared by ${JSON.stringify(operator)}, which is not an operator of a filter`)
  }
}

/** Throws if a value would change in storage. */
export function checkJson(collection: string, path: string, value: unknown, depth = 0): void {
  if (isScalar(value)) return
  if (value === undefined) throw invalid(collection, path, "has no value; leave the path out, or use null")
  if (depth > 100) throw invalid(collection, path, "is nested more than 100 deep")
  if (Array.isArray(value)) {
    for (const each of value) checkJson(collection, path, each, depth + 1)
    return
  }
  if (!isPlainObject(value)) throw invalid(collection, path, `is ${describe(value)}, not JSON`)
  for (const [key, each] of Object.entries(value)) {
    if (key.includes("\0") || key === "__proto__")
      throw invalid(collection, path, `has the key ${JSON.stringify(key)}, which is not a field`)
    if (each !== undefined) checkJson(collection, path, each, depth + 1)
  }
}

function describe(value: unknown): string {
  return typeof value === "object" ? "an object of a class" : `a ${typeof value} (${String(value)})`
}
