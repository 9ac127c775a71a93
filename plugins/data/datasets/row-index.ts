// Splits a row query into the parts with and without an index. Indexes serve conditions on `created_at` and `id`, and the order
// of `created_at`. They also serve key values if every row has a key, because the ID is derived from the key. Pure.
import type { Filter, Json } from "#core"
import type { Sort } from "#core/engine"
import type { Dataset } from "./dataset.ts"
import { rowIdOf } from "./row-identity.ts"
import { columnOf, nameOfColumn } from "./row-query.ts"

export interface ServedQuery {
  /** Conditions with an index. Every match of the filter also matches them. */
  readonly narrowing: Filter
  /** True if the conditions name a few rows by ID. */
  readonly byId: boolean
  /** Columns without an index, in the order of the query. */
  readonly unserved: readonly { readonly field: "filter" | "sort"; readonly column: string }[]
}

type Condition = Filter[string]

/** Maximum number of listed values in a condition with an index. */
const maxListed = 200
const ranges = ["$eq", "$in", "$gt", "$gte", "$lt", "$lte"]

/** `scope`: the scope column of the dataset's key, if there is one. */
export function servedQuery(organization: string, dataset: Dataset, filter: Filter, sort: Sort, scope?: string): ServedQuery {
  const unserved: { field: "filter" | "sort"; column: string }[] = []
  const narrowing: Filter[] = [{ dataset_id: dataset.id }]
  const keyPath = hasKeyedIds(dataset) ? `values.${dataset.key}` : undefined
  let byId = false
  const matches = [...conditions(filter)]
  const within = matches.flatMap(({ path, condition, alternative }) =>
    !alternative && scope !== undefined && path === `values.${scope}` ? [valuesOf(condition) ?? []] : [],
  )[0]
  for (const { path, condition, alternative } of matches) {
    const values = valuesOf(condition)
    if (within !== undefined && path === `values.${scope}` && byKeyWithin(matches, keyPath)) continue
    if (!alternative && path === "created_at" && isRange(condition)) narrowing.push({ created_at: condition })
    else if (!alternative && path === "id" && values) {
      byId = true
      narrowing.push({ id: condition })
    } else if (!alternative && path === keyPath && values?.every(isKeyValue) && (scope === undefined || within)) {
      byId = true
      // Earlier versions derived the ID from the key alone.
      const scopes = [undefined, ...(within ?? []).map(String)]
      narrowing.push({
        id: { $in: values.flatMap((value) => scopes.map((candidate) => rowIdOf(organization, dataset.id, String(value), candidate))) },
      })
    } else unserved.push({ field: "filter", column: columnOf(path) })
  }
  for (const path of Object.keys(sort)) if (path !== "created_at") unserved.push({ field: "sort", column: columnOf(path) })
  return { narrowing: { $and: narrowing }, byId, unserved }
}

/** Returns true if the filter also names the key. A condition on the scope then has an index. */
function byKeyWithin(matches: readonly KeyCondition[], keyPath: string | undefined): boolean {
  return matches.some(
    ({ path, condition, alternative }) => !alternative && path === keyPath && valuesOf(condition)?.every(isKeyValue) === true,
  )
}

/** Columns available for filters in a dataset of any size. */
export function indexedColumns(dataset: Dataset, scope?: string): string[] {
  const key = dataset.key === null ? "" : nameOfColumn(dataset.key)
  const keys = hasKeyedIds(dataset) ? [scope === undefined ? key : `${nameOfColumn(scope)} with ${key}`] : []
  return ["created_at", "id", ...keys]
}

function hasKeyedIds({ key, unkeyed }: Dataset): boolean {
  return key !== null && unkeyed === false
}

interface KeyCondition {
  readonly path: string
  readonly condition: Condition
  /** True for a condition under `$or`, which has no index. */
  readonly alternative: boolean
}

function* conditions(filter: Filter, alternative = false): Generator<KeyCondition> {
  for (const [path, condition] of Object.entries(filter)) {
    if (path === "$and" || path === "$or") {
      for (const entry of condition as readonly Filter[]) yield* conditions(entry, alternative || path === "$or")
    } else yield { path, condition, alternative }
  }
}

function isRange(condition: Condition): boolean {
  const operators = operatorsOf(condition)
  return operators === undefined || Object.keys(operators).some((operator) => ranges.includes(operator))
}

/** Returns the values of an equality condition. Returns undefined for other conditions, and for more than `maxListed` values. */
function valuesOf(condition: Condition): Json[] | undefined {
  const operators = operatorsOf(condition)
  if (operators === undefined) return [condition as Json]
  if ("$eq" in operators) return [operators["$eq"] as Json]
  const values = operators["$in"]
  return Array.isArray(values) && values.length <= maxListed ? values : undefined
}

/** Returns undefined if a condition is a plain value. */
function operatorsOf(condition: Condition): Readonly<Record<string, unknown>> | undefined {
  if (typeof condition !== "object" || condition === null || Array.isArray(condition)) return undefined
  const keys = Object.keys(condition)
  return keys.length > 0 && keys.every((key) => key.startsWith("$")) ? (condition as Record<string, unknown>) : undefined
}

/** Returns true for valid values of a key column (row-identity.ts). */
function isKeyValue(value: Json): boolean {
  return typeof value === "number" || typeof value === "boolean" || (typeof value === "string" && value !== "")
}
