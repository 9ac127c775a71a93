// Known columns of a dataset may be missing in a row. They read as blank in responses, exports and filters. The blank is "" for
// text columns and null for others. Pure.
import type { Filter, Json } from "#core"
import { columnsOf } from "./column-types.ts"
import type { Dataset } from "./dataset.ts"

type Values = Readonly<Record<string, Json>>
type Condition = Filter[string]

/** Returns the columns of a dataset with their blanks, in the order of first use. */
export function blanksOf({ columns }: Pick<Dataset, "columns">): ReadonlyMap<string, "" | null> {
  return new Map(columnsOf(columns).columns.map(({ name, type }) => [name, type === "string" ? "" : null]))
}

/** Returns a row's values with every known column in the dataset's order, then further columns. */
export function withBlanks(values: Values, blanks: ReadonlyMap<string, "" | null>): Record<string, Json> {
  const whole: Record<string, Json> = {}
  for (const [name, blank] of blanks) whole[name] = Object.hasOwn(values, name) ? (values[name] ?? null) : blank
  return Object.assign(whole, values)
}

/**
 * Adapts the filter to the store, where a missing value only equals null. In a text column, a missing value is found by "" and by
 * null. In other columns it is found by null.
 */
export function findingBlanks(filter: Filter, blanks: ReadonlyMap<string, "" | null>): Filter {
  const all: Filter[] = []
  for (const [path, condition] of Object.entries(filter)) {
    if (path === "$and" || path === "$or") {
      all.push({ [path]: (condition as readonly Filter[]).map((entry) => findingBlanks(entry, blanks)) })
    } else all.push(isText(path, blanks) ? findingBlankText(path, condition) : { [path]: condition })
  }
  return all.length === 1 ? (all[0] as Filter) : all.length === 0 ? {} : { $and: all }
}

function isText(path: string, blanks: ReadonlyMap<string, "" | null>): boolean {
  return path.startsWith("values.") && blanks.get(path.slice("values.".length)) === ""
}

function findingBlankText(path: string, condition: Condition): Filter {
  const wantsBlank = finds(condition, "")
  // Leave the condition unchanged if its result is the same, so an index can serve it.
  if (wantsBlank === finds(condition, undefined)) return { [path]: condition }
  return wantsBlank
    ? { $or: [{ [path]: condition }, { [path]: { $exists: false } }] }
    : { $and: [{ [path]: condition }, { [path]: { $exists: true } }] }
}

/** Returns true if a condition matches a missing column: in the store's view (undefined), or in the reader's view (""). */
function finds(condition: Condition, value: "" | undefined): boolean {
  if (!isOperators(condition)) return isEqual(value, condition)
  return Object.entries(condition).every(([operator, operand]) => {
    if (operator === "$eq") return isEqual(value, operand)
    if (operator === "$ne") return !isEqual(value, operand)
    if (operator === "$in") return listOf(operand).some((candidate) => isEqual(value, candidate))
    if (operator === "$nin") return !listOf(operand).some((candidate) => isEqual(value, candidate))
    if (operator === "$exists") return operand === false
    if (operator === "$not") return !finds(operand as Condition, value)
    return compares(value, operator, operand)
  })
}

function isOperators(condition: Condition): condition is Record<string, unknown> & Exclude<Condition, undefined> {
  if (typeof condition !== "object" || condition === null || Array.isArray(condition)) return false
  const keys = Object.keys(condition)
  return keys.length > 0 && keys.every((key) => key.startsWith("$"))
}

function isEqual(value: "" | undefined, operand: unknown): boolean {
  return operand === null || (value !== undefined && operand === value)
}

function compares(value: "" | undefined, operator: string, operand: unknown): boolean {
  if (operand === null) return operator === "$gte" || operator === "$lte"
  if (value === undefined || typeof operand !== "string") return false
  if (operator === "$lt") return operand !== ""
  return operator === "$lte" || (operator === "$gte" && operand === "")
}

function listOf(operand: unknown): readonly unknown[] {
  return Array.isArray(operand) ? operand : []
}
