// Translates a query to SQL. SQL selects by organization, id and indexed paths, and sorts. match.ts applies the exact filter to
// each selected document.
import type { CollectionSpec } from "../../contract/collection.ts"
import type { Filter, Scalar } from "../../contract/store.ts"
import type { DriverQuery } from "../driver.ts"
import { isConditions, isScalar } from "../filter.ts"
import { idKey } from "./id-key.ts"
import { type Bound, columnAt, indexedPaths, isSpeakable, keyOf, keySql, literalOf, pathsOf, quoted } from "./keys.ts"
import { organizationSql, tableOf } from "./schema.ts"
import { documentColumns, type Shape } from "./shape.ts"
import type { WireLookUp, WireQuery } from "./wire.ts"

type Narrowing = { sql: string; binds: Bound[]; ids?: true }

/** Longer lists do not narrow the query, because SQLite would compare every document with each value. */
const maxListed = 1_024
/** Limit of a count without a limit. */
const allOf = 2_147_483_647
/** SQL for the text of a document with its phrases (reader.ts). */
const plainText = "mr_plain(data)"
/** Maximum values of a list with an index search per value. */
const maxMerged = 32

export function toWire(query: Omit<DriverQuery, "sort" | "after"> & Partial<DriverQuery>, deadline: number): WireQuery {
  const indexed = indexedPaths(query.collection)
  const listed = query.sort && listedIn(query.collection, query.filter, query.sort)
  const merged = listed && listed.values.length <= maxMerged ? listed : undefined
  const conditions = [...conjuncts(query.filter)].filter(([, condition]) => merged === undefined || condition !== merged.condition)
  const narrow = conditions.flatMap(([path, condition]) =>
    // Ids pass to the reader as text. A list of byte keys takes ten times as long to pass to another thread.
    path === "id" ? narrowings("id", condition).map((one) => ({ ...one, ids: true as const })) : [],
  )
  const sparse = new Set(query.collection.indexes.flatMap((index) => (index.sparse ? pathsOf(index).slice(0, 1) : [])))
  const byKeys = conditions.flatMap(([path, condition]) =>
    indexed.has(path) ? (byLiteral(query.collection, path, condition) ?? byKey(path, condition, sparse.has(path))) : [],
  )
  return {
    table: tableOf(query.collection),
    organization: query.organization ?? "",
    narrow: [...narrow, ...byKeys],
    narrowsKeys: byKeys.length > 0 || merged !== undefined,
    filter: isById(query.filter) ? undefined : query.filter,
    exact: isExact(query.filter, indexed),
    order: query.sort?.map(([path, direction]) => ({ key: orderSql(path, query.collection, indexed), descends: direction === -1 })) ?? [],
    merge: merged && { key: quoted(columnAt("key", merged.path)), values: merged.values.map(keyOf) },
    sorts: listed !== undefined && merged === undefined,
    after: query.after && query.sort ? following(query, query.sort, query.after, indexed) : undefined,
    limit: query.limit,
    count: query.sort === undefined,
    deadline,
  }
}

/** Returns a look-up for a query of a single document by its id. Returns undefined for any other query. */
export function toLookUp({ collection, organization = "", filter, after }: DriverQuery): WireLookUp | undefined {
  const { id } = filter as { id?: unknown }
  if (!isPlainText(id) || after || Object.keys(filter).length !== 1) return undefined
  return { lookUp: tableOf(collection), organization, id }
}

/**
 * Returns the SQL of a query and its bound values. Rows begin with the columns of `documentColumns`. `multi` is true if the
 * organization has documents outside of every key condition.
 *
 * A list of values becomes an ordered index search per value, and SQLite merges the searches. For `key IN (…)` SQLite would walk
 * an index in the requested order, possibly over the whole collection.
 */
export function statementOf(query: WireQuery, shape: Shape, multi: boolean): { readonly sql: string; readonly binds: readonly Bound[] } {
  const conditions = [`org=${organizationSql}`, ...query.narrow.map(({ sql }) => (multi ? `(${sql} OR multi IS NOT NULL)` : sql))]
  const own = [
    query.organization,
    ...query.narrow.flatMap(({ binds, ids }) => (ids ? binds.map(asId) : binds)),
    ...(query.after?.binds ?? []),
  ]
  if (query.after) conditions.push(query.after.sql)
  // With an id and no other filter there is at most a single document, so no call is necessary. If SQL is exact, the call only
  // checks the deadline from time to time.
  if (query.filter && (multi || !query.exact)) conditions.push(`mr_matches(${documentColumns(shape)})`)
  else if (query.filter || query.narrow.length === 0) conditions.push("(n&255 OR mr_matches(n))")
  if (query.soundOnly) conditions.push("mr_sound(data)")
  const where = conditions.join(" AND ")
  if (query.count) {
    // An effectively unlimited count takes a third less time this way.
    if (query.limit >= allOf) return { sql: `SELECT count(*) AS n FROM ${query.table} WHERE ${where}`, binds: own }
    return { sql: `SELECT count(*) AS n FROM (SELECT 1 FROM ${query.table} WHERE ${where} LIMIT ?)`, binds: [...own, query.limit] }
  }
  const inOrder = (keyOf: (key: string, at: number) => string) =>
    query.order.length === 0
      ? ""
      : `ORDER BY ${query.order.map(({ key, descends }, at) => `${keyOf(key, at)}${descends ? " DESC" : ""}`).join(",")}`
  if (!query.merge) {
    const sql = `SELECT ${documentColumns(shape)} FROM ${query.table} WHERE ${where} ${inOrder((key) => (query.sorts ? `+${key}` : key))} LIMIT ?`
    return { sql, binds: [...own, query.limit] }
  }
  const { key, values } = query.merge
  const columns = [documentColumns(shape), ...query.order.map((one, at) => `${one.key} AS k${at}`)].join(",")
  const each = `SELECT ${columns} FROM ${query.table} WHERE ${where} AND ${key}=?${multi ? " AND multi IS NULL" : ""}`
  const searches = values.map(() => each)
  const binds = values.flatMap((value) => [...own, value])
  if (multi) {
    searches.push(`SELECT ${columns} FROM ${query.table} WHERE ${where} AND multi IS NOT NULL`)
    binds.push(...own)
  }
  return { sql: `${searches.join(" UNION ALL ")} ${inOrder((_, at) => `k${at}`)} LIMIT ?`, binds: [...binds, query.limit] }
}

/** Returns a condition with a list of values for a path, if an index has this path before the sort keys. */
function listedIn(
  spec: CollectionSpec,
  filter: Filter,
  sort: DriverQuery["sort"],
): { path: string; condition: unknown; values: readonly Scalar[] } | undefined {
  const conditions = [...conjuncts(filter)]
  const equal = new Set(conditions.flatMap(([path, condition]) => (isConditions(condition) ? [] : path)))
  for (const [path, condition] of conditions) {
    const operators = isConditions(condition) ? Object.entries(condition) : []
    const [operator, values] = operators.length === 1 ? (operators[0] ?? []) : []
    if (operator !== "$in" || !Array.isArray(values) || values.length === 0 || values.length > maxListed || !values.every(isNarrow))
      continue
    if (path === "id" || path === sort[0]?.[0]) continue
    const serves = ({ sparse, only, fields }: CollectionSpec["indexes"][number]) => {
      const paths = pathsOf({ fields })
      const at = paths.indexOf(path)
      return !sparse && !only && at >= 0 && paths.slice(0, at).every((one) => equal.has(one))
    }
    if (spec.indexes.some(serves)) return { path, condition, values: [...new Set(values)] }
  }
  return undefined
}

/** Returns a literal condition for a partial index. SQLite uses a partial index only if it sees the literal value. */
function byLiteral({ indexes }: CollectionSpec, path: string, condition: unknown): Narrowing[] | undefined {
  if (condition === undefined || !indexes.some(({ only }) => only?.[path] === condition)) return undefined
  return [{ sql: `${quoted(columnAt("key", path))}=${literalOf(keyOf(condition as Scalar))}`, binds: [] }]
}

function byKey(path: string, condition: unknown, sparse: boolean): Narrowing[] {
  const narrow = narrowings(quoted(columnAt("key", path)), condition)
  // SQLite uses a sparse index only if the query requires the document's presence in it.
  if (sparse && impliesPresence(condition)) narrow.push({ sql: `${quoted(columnAt("has", path))} IS NOT NULL`, binds: [] })
  return narrow
}

/** Returns true if SQL's conditions equal the filter, for documents without a list at an indexed path. */
function isExact(filter: Filter, indexed: ReadonlySet<string>): boolean {
  return Object.entries(filter).every(([key, condition]) => {
    if (key === "$and") return (condition as readonly Filter[]).every((each) => isExact(each, indexed))
    if (key === "id") return isPlainText(condition)
    return indexed.has(key) && isEquality(condition)
  })
}

function isEquality(condition: unknown): boolean {
  if (!isConditions(condition)) return isNarrow(condition)
  return Object.entries(condition).every(([operator, operand]) => {
    if (operator === "$eq") return isNarrow(operand)
    return operator === "$in" && Array.isArray(operand) && operand.length <= maxListed && operand.every(isNarrow)
  })
}

/** Returns true if a match requires a value at the path. */
function impliesPresence(condition: unknown): boolean {
  return isConditions(condition) ? condition["$eq"] !== undefined && condition["$eq"] !== null : isNarrow(condition) && condition !== null
}

/** Returns true if the filter is empty, or only an id or a list of ids. SQL is exact for these. */
function isById(filter: Filter): boolean {
  const keys = Object.keys(filter)
  return keys.length === 0 || (keys.length === 1 && keys[0] === "id" && (isPlainText(filter["id"]) || isListOfIds(filter["id"])))
}

function isListOfIds(condition: unknown): boolean {
  if (!isConditions(condition) || Object.keys(condition).length !== 1) return false
  const { $in } = condition
  return Array.isArray($in) && $in.length > 0 && $in.length <= maxListed && $in.every(isPlainText)
}

function* conjuncts(filter: Filter): Generator<[path: string, condition: unknown]> {
  for (const [key, condition] of Object.entries(filter)) {
    if (key === "$and") for (const each of condition as readonly Filter[]) yield* conjuncts(each)
    else if (key !== "$or") yield [key, condition]
  }
}

function narrowings(key: string, condition: unknown): Narrowing[] {
  if (!isConditions(condition)) return isNarrow(condition) ? [{ sql: `${key}=?`, binds: [keyOf(condition)] }] : []
  const isClosed = hasBothEnds(condition)
  return Object.entries(condition).flatMap(([operator, operand]) => narrowing(key, operator, operand, isClosed) ?? [])
}

/** Returns true for a range with two ends of the same type, text or number. */
function hasBothEnds({ $gt, $gte = $gt, $lt, $lte = $lt }: Readonly<Record<string, unknown>>): boolean {
  return $gte !== undefined && typeof $gte === typeof $lte
}

function narrowing(key: string, operator: string, operand: unknown, isClosed: boolean): Narrowing | undefined {
  if (operator === "$eq" && isNarrow(operand)) return { sql: `${key}=?`, binds: [keyOf(operand)] }
  if (operator === "$in" && Array.isArray(operand) && operand.length <= maxListed && operand.every(isNarrow)) {
    const binds = operand.map(keyOf)
    // Pads to powers of two, so few distinct statements stay prepared.
    while (binds.length > 0 && (binds.length & (binds.length - 1)) !== 0) binds.push(binds[0] as Bound)
    return { sql: `${key} IN (${binds.map(() => "?").join(",")})`, binds }
  }
  if (typeof operand !== "number" && !isPlainText(operand)) return undefined
  const [least, beyond] = isClosed ? ["TRUE", "TRUE"] : endsOfType(key, operand)
  if (operator === "$gt" || operator === "$gte") return { sql: `${key}${operator === "$gt" ? ">" : ">="}? AND ${beyond}`, binds: [operand] }
  if (operator === "$lt" || operator === "$lte") return { sql: `${key}${operator === "$lt" ? "<" : "<="}? AND ${least}`, binds: [operand] }
  return undefined
}

/**
 * Returns the limits of the operand's type, for a range with a single end. With two ends SQLite may start at the farther end. Ids
 * are always text, in any stored form.
 */
function endsOfType(key: string, operand: string | number): readonly [least: string, beyond: string] {
  if (key === "id") return ["TRUE", "TRUE"]
  return typeof operand === "number" ? [`${key}>-9e999`, `${key}<''`] : [`${key}>=''`, `${key}<x''`]
}

function isNarrow(value: unknown): value is Scalar {
  return isScalar(value) && (typeof value !== "string" || isPlainText(value))
}

/** Returns true for text that SQLite compares like JavaScript. */
function isPlainText(value: unknown): value is string {
  return typeof value === "string" && value.isWellFormed() && !value.includes("\0")
}

function orderSql(path: string, { scope, expires }: CollectionSpec, indexed: ReadonlySet<string>): string {
  if (indexed.has(path)) return quoted(columnAt("key", path))
  // Paths that a document's text omits.
  if (path === "organization_id" && scope === "organization") return "(SELECT id FROM _organizations WHERE n=org)"
  if (path === expires) return `ifnull(${quoted(columnAt("expires", path))},${keySql(path, plainText)})`
  return isSpeakable(path) ? keySql(path, plainText) : "NULL"
}

/** Converts an id to its stored form for comparison. */
function asId(value: Bound): Bound {
  return typeof value === "string" ? idKey(value) : value
}

/** Returns the condition for documents after the values in the sort order. */
function following(
  { collection }: Pick<DriverQuery, "collection">,
  sort: DriverQuery["sort"],
  after: readonly Scalar[],
  indexed: ReadonlySet<string>,
): Narrowing {
  const keys = sort.map(([path]) => orderSql(path, collection, indexed))
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
  // The first condition follows from the others. It is the start of the index search.
  return { sql: `${keys[0]}${signs[0]}=? AND (${steps.map((step) => `(${step})`).join(" OR ")})`, binds: all }
}
