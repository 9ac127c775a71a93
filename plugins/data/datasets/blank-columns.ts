// Columns that a dataset knows and a row lacks, since it was written before them, or without them: they read as blank in
// answers, exports and filters alike. Blank is "" where the column holds text, and null where it holds anything else. Pure.
import type { Filter, Json } from "#core"
import { columnsOf } from "./column-types.ts"
import type { Dataset } from "./dataset.ts"

type Values = Readonly<Record<string, Json>>
type Condition = Filter[string]

/** The columns of a dataset with what is read where a row lacks one, in the order in which they were first seen. */
export function blanksOf({ columns }: Pick<Dataset, "columns">): ReadonlyMap<string, "" | null> {
  return new Map(columnsOf(columns).columns.map(({ name, type }) => [name, type === "string" ? "" : null]))
}

/** A row's values with every column that the dataset knows, in its order; further ones after them. */
export function withBlanks(values: Values, blanks: ReadonlyMap<string, "" | null>): Record<string, Json> {
  const whole: Record<string, Json> = {}
  for (const [name, blank] of blanks) whole[name] = Object.hasOwn(values, name) ? (values[name] ?? null) : blank
  return Object.assign(whole, values)
}

/**
 * The filter as the store is to be asked, which knows of absent values only that they equal null: rows that lack a column
 * of text are found as if they held "" there, and, as those that lack any other column, by null.
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
  // As it stands where that finds them anyway, so that an index can still serve it.
  if (wantsBlank === finds(condition, undefined)) return { [path]: condition }
  return wantsBlank
    ? { $or: [{ [path]: condition }, { [path]: { $exists: false } }] }
    : { $and: [{ [path]: condition }, { [path]: { $exists: true } }] }
}

/** Whether a condition finds a row that lacks the column: as the store has it (undefined), and as it is read (""). */
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
