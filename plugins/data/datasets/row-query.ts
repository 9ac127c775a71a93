// Parses callers' row queries for the store. `filter` is JSON in the storage's filter subset over columns. `sort` is a column,
// with the prefix `-` for descending order. Pure.
import { AppError, type Filter, type Json } from "#core"
import { roundedInteger, type Sort } from "#core/engine"
import type { Row } from "./collections.ts"
import { problemOfName } from "./row-values.ts"

const columnPrefix = "values."

/** Parses a filter such as `{"budget":{"$gte":1000}}`. Empty text means no filter. Throws `invalid_argument`. */
export function readFilter(text: string): Filter {
  if (text.trim() === "") return {}
  let parsed: Json
  try {
    parsed = JSON.parse(text) as Json
  } catch (cause) {
    throw refusal("filter", `${(cause as Error).message}. Give JSON such as {"email":"ada@example.com"} or {"budget":{"$gte":1000}}`)
  }
  const rounded = roundedInteger(text)
  if (rounded) {
    throw refusal(
      "filter",
      `"${rounded.field}" is compared with ${rounded.digits.slice(0, 40)}, which a number cannot hold exactly; compare with text`,
    )
  }
  return columnsOnly(parsed, 0)
}

export function readSort(text: string): Sort {
  if (text === "") return { created_at: -1 }
  const descending = text.startsWith("-")
  return { [pathOf(descending ? text.slice(1) : text, "sort")]: descending ? -1 : 1 }
}

/** Throws `invalid_argument` if a row's sort value is an object or a list. They have no order for the next page. */
export function refuseUnordered(sort: Sort, rows: readonly Row[]): void {
  for (const path of Object.keys(sort)) {
    const row = rows.find((candidate) => !isOrdered(candidate, path.split(".")))
    if (row) throw refusal("sort", `"${columnOf(path)}" of the row ${row.id} is not a text, number, true or false; sort by another column`)
  }
}

function isOrdered(value: unknown, [step, ...rest]: readonly string[]): boolean {
  if (typeof value !== "object" || value === null) return true
  return step !== undefined && !Array.isArray(value) && isOrdered((value as Record<string, unknown>)[step], rest)
}

/** Returns the callers' name for a path in a row. */
export function columnOf(path: string): string {
  return path.startsWith(columnPrefix) && !isQualified(path) ? path.slice(columnPrefix.length) : path
}

function columnsOnly(input: Json | undefined, level: number): Filter {
  if (typeof input !== "object" || input === null || Array.isArray(input)) {
    throw refusal("filter", `expected an object of columns, got ${JSON.stringify(input)}`)
  }
  if (level > 10) throw refusal("filter", "nested more than 10 levels deep")
  const filter: Filter = {}
  for (const [name, condition] of Object.entries(input)) {
    if (name === "$and" || name === "$or") {
      if (!Array.isArray(condition) || condition.length === 0) throw refusal("filter", `${name} takes a list of filters`)
      filter[name] = condition.map((entry) => columnsOnly(entry, level + 1))
    } else {
      filter[pathOf(name, "filter")] = condition
    }
  }
  return filter
}

/** Returns the path of an own field, a column, or a dotted path into a column. `id` is the own field, `values.id` the column. */
function pathOf(name: string, field: string): string {
  if (isOwnField(name)) return name
  for (const part of name.split(".")) {
    const problem = problemOfName(part)
    if (problem) throw refusal(field, `the column name ${JSON.stringify(name)} ${problem}`)
  }
  return isQualified(name) ? name : columnPrefix + name
}

function refusal(field: string, message: string): AppError {
  return new AppError("invalid_argument", `${field}: ${message}.`, {
    reason: "invalid_fields",
    fields: [{ path: field, message }],
  })
}

/** Names of a row's own fields. Senders often have columns with the same names. */
export const ownFields = ["id", "created_at", "updated_at"] as const
const own: ReadonlySet<string> = new Set(ownFields)

function isOwnField(name: string): boolean {
  return own.has(name)
}

/**
 * Returns `values.id` for the column `id`, as in filters, sorts and CSV. Other columns keep their name. Column names contain no
 * dots.
 */
export function nameOfColumn(column: string): string {
  return own.has(column) ? `values.${column}` : column
}

/** Matches `values.id` and paths into that column. Below a column `values`, matches `values.values.id`. */
const qualified = new RegExp(`^values\\.(?:values\\.)*(?:${ownFields.join("|")})(?:\\.|$)`)

/** Returns true if the name explicitly refers to a column, like `values.id`. */
function isQualified(name: string): boolean {
  return qualified.test(name)
}
