// Turns a query into SQL. SQL narrows by organization, id and indexed paths and puts in order; what the filter means
// exactly is decided by match.ts, called for each document that the narrowing leaves.
import type { Filter, Scalar } from "../../contract/store.ts"
import type { DriverQuery } from "../driver.ts"
import { isConditions, isScalar } from "../filter.ts"
import { idKey } from "./id-key.ts"
import { type Bound, columnAt, indexedPaths, isSpeakable, keyOf, keySql, quoted } from "./keys.ts"
import { tableOf } from "./schema.ts"
import type { WireQuery } from "./wire.ts"

type Narrowing = { sql: string; binds: Bound[] }

const maxListed = 200

export function toWire(query: Omit<DriverQuery, "sort" | "after"> & Partial<DriverQuery>, deadline: number): WireQuery {
  const narrow: Narrowing[] = []
  const byKeys: Narrowing[] = []
  const indexed = indexedPaths(query.collection)
  for (const [path, condition] of conjuncts(query.filter)) {
    if (path === "id") narrow.push(...narrowings("id", condition).map(({ sql, binds }) => ({ sql, binds: binds.map(asId) })))
    else if (indexed.has(path)) byKeys.push(...narrowings(quoted(columnAt("key", path)), condition))
  }
  return {
    table: tableOf(query.collection),
    organization: query.organization ?? "",
    narrow: [...narrow, ...byKeys],
    narrowsKeys: byKeys.length > 0,
    filter: isById(query.filter) ? undefined : query.filter,
    order: query.sort
      ? `ORDER BY ${query.sort.map(([path, direction]) => `${orderSql(path, indexed)}${direction === 1 ? "" : " DESC"}`).join(",")}`
      : "",
    after: query.after && query.sort ? following(query.sort, query.after, indexed) : undefined,
    limit: query.limit,
    count: query.sort === undefined,
    deadline,
  }
}

/** Whether the filter is `{ id: text }` alone (or empty), for which SQL's narrowing is exact. */
export function isById(filter: Filter): boolean {
  const keys = Object.keys(filter)
  return keys.length === 0 || (keys.length === 1 && keys[0] === "id" && isPlainText(filter["id"]))
}

function* conjuncts(filter: Filter): Generator<[path: string, condition: unknown]> {
  for (const [key, condition] of Object.entries(filter)) {
    if (key === "$and") for (const each of condition as readonly Filter[]) yield* conjuncts(each)
    else if (key !== "$or") yield [key, condition]
  }
}

function narrowings(key: string, condition: unknown): Narrowing[] {
  if (!isConditions(condition)) return isNarrow(condition) ? [{ sql: `${key}=?`, binds: [keyOf(condition)] }] : []
  return Object.entries(condition).flatMap(([operator, operand]) => narrowing(key, operator, operand) ?? [])
}

function narrowing(key: string, operator: string, operand: unknown): Narrowing | undefined {
  if (operator === "$eq" && isNarrow(operand)) return { sql: `${key}=?`, binds: [keyOf(operand)] }
  if (operator === "$in" && Array.isArray(operand) && operand.length <= maxListed && operand.every(isNarrow)) {
    return { sql: `${key} IN (${operand.map(() => "?").join(",")})`, binds: operand.map(keyOf) }
  }
  if (typeof operand !== "number" && !isPlainText(operand)) return undefined
  // The other end of the range is that of the type. Ids are all text, in any storage form.
  const [least, beyond] =
    key === "id" ? ["TRUE", "TRUE"] : typeof operand === "number" ? [`${key}>-9e999`, `${key}<''`] : [`${key}>=''`, `${key}<x''`]
  if (operator === "$gt" || operator === "$gte") return { sql: `${key}${operator === "$gt" ? ">" : ">="}? AND ${beyond}`, binds: [operand] }
  if (operator === "$lt" || operator === "$lte") return { sql: `${key}${operator === "$lt" ? "<" : "<="}? AND ${least}`, binds: [operand] }
  return undefined
}

function isNarrow(value: unknown): value is Scalar {
  return isScalar(value) && (typeof value !== "string" || isPlainText(value))
}

/** Text that SQLite compares as JavaScript has it. */
function isPlainText(value: unknown): value is string {
  return typeof value === "string" && value.isWellFormed() && !value.includes("\0")
}

function orderSql(path: string, indexed: ReadonlySet<string>): string {
  if (indexed.has(path)) return quoted(columnAt("key", path))
  return isSpeakable(path) ? keySql(path) : "NULL"
}

/** An id is compared as it is stored. */
function asId(value: Bound): Bound {
  return typeof value === "string" ? idKey(value) : value
}

/** What comes after the values given, in the order asked for. */
function following(sort: DriverQuery["sort"], after: readonly Scalar[], indexed: ReadonlySet<string>): Narrowing {
  const keys = sort.map(([path]) => orderSql(path, indexed))
  const binds = after.map((value, at) => (sort[at]?.[0] === "id" ? asId(keyOf(value)) : keyOf(value)))
  const signs = sort.map(([, direction]) => (direction === 1 ? ">" : "<"))
  if (signs.every((sign) => sign === signs[0])) {
    return { sql: `(${keys.join(",")})${signs[0]}(${keys.map(() => "?").join(",")})`, binds }
  }
  const all: Bound[] = [binds[0] as Bound]
  const steps = keys.map((key, last) => {
    all.push(...binds.slice(0, last + 1))
    return [...keys.slice(0, last).map((equal) => `${equal}=?`), `${key}${signs[last]}?`].join(" AND ")
  })
  // The first condition follows from the others; it is what an index can begin at.
  return { sql: `${keys[0]}${signs[0]}=? AND (${steps.map((step) => `(${step})`).join(" OR ")})`, binds: all }
}
