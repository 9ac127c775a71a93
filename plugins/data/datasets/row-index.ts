// Which part of what is asked of rows the store's indexes answer: conditions on `created_at` and `id`, values of the key
// column where every row has one (its id follows from it), and the order of `created_at`. Pure.
import type { Filter, Json } from "#core"
import type { Sort } from "#core/engine"
import type { Dataset } from "./dataset.ts"
import { rowIdOf } from "./row-identity.ts"
import { columnOf, nameOfColumn } from "./row-query.ts"

export interface ServedQuery {
  /** What an index narrows the rows by; every row that the filter lets through is among them. */
  readonly narrowing: Filter
  /** Whether that leaves a few rows, named one by one. */
  readonly byId: boolean
  /** Columns that no index serves, in the order in which they are asked for. */
  readonly unserved: readonly { readonly field: "filter" | "sort"; readonly column: string }[]
}

type Condition = Filter[string]

/** The store narrows by a list of values up to here. */
const maxListed = 200
const ranges = ["$eq", "$in", "$gt", "$gte", "$lt", "$lte"]

/** `scope`: the column that the dataset's key counts within, where there is one. */
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
      // Rows of earlier versions were known by the key alone.
      const scopes = [undefined, ...(within ?? []).map(String)]
      narrowing.push({
        id: { $in: values.flatMap((value) => scopes.map((candidate) => rowIdOf(organization, dataset.id, String(value), candidate))) },
      })
    } else unserved.push({ field: "filter", column: columnOf(path) })
  }
  for (const path of Object.keys(sort)) if (path !== "created_at") unserved.push({ field: "sort", column: columnOf(path) })
  return { narrowing: { $and: narrowing }, byId, unserved }
}

/** Whether the key is asked for as well, so that a condition on its scope is served with it. */
function byKeyWithin(matches: readonly KeyCondition[], keyPath: string | undefined): boolean {
  return matches.some(
    ({ path, condition, alternative }) => !alternative && path === keyPath && valuesOf(condition)?.every(isKeyValue) === true,
  )
}

/** Columns to filter by in a dataset of any size. */
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
  /** One of several under `$or`, which no index serves. */
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

/** The values that a condition names, where it is equality with one or some; undefined otherwise, and where there are too many. */
function valuesOf(condition: Condition): Json[] | undefined {
  const operators = operatorsOf(condition)
  if (operators === undefined) return [condition as Json]
  if ("$eq" in operators) return [operators["$eq"] as Json]
  const values = operators["$in"]
  return Array.isArray(values) && values.length <= maxListed ? values : undefined
}

/** undefined where a condition is a plain value. */
function operatorsOf(condition: Condition): Readonly<Record<string, unknown>> | undefined {
  if (typeof condition !== "object" || condition === null || Array.isArray(condition)) return undefined
  const keys = Object.keys(condition)
  return keys.length > 0 && keys.every((key) => key.startsWith("$")) ? (condition as Record<string, unknown>) : undefined
}

/** What a keyed row can hold in its key column (row-identity.ts). */
function isKeyValue(value: Json): boolean {
  return typeof value === "number" || typeof value === "boolean" || (typeof value === "string" && value !== "")
}
