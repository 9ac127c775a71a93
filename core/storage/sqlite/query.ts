// Turns a query into SQL. SQL narrows by organization, id and indexed paths and puts in order; what the filter means
// exactly is decided by match.ts, called for each document that the narrowing leaves.
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

/** Of longer lists nothing is narrowed by: every document would be looked at for each of them. */
const maxListed = 1_024
/** The limit of a count that has none. */
const allOf = 2_147_483_647
/** SQL for the text of a document with its phrases (reader.ts). */
const plainText = "mr_plain(data)"
/** Of a list that an index serves value by value. */
const maxMerged = 32

export function toWire(query: Omit<DriverQuery, "sort" | "after"> & Partial<DriverQuery>, deadline: number): WireQuery {
  const indexed = indexedPaths(query.collection)
  const listed = query.sort && listedIn(query.collection, query.filter, query.sort)
  const merged = listed && listed.values.length <= maxMerged ? listed : undefined
  const conditions = [...conjuncts(query.filter)].filter(([, condition]) => merged === undefined || condition !== merged.condition)
  const narrow = conditions.flatMap(([path, condition]) =>
    // As text to the reader: a list of keys as bytes takes ten times as long to pass to another thread.
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

/** What asks for one document by its id, and for nothing else; undefined for any other query. */
export function toLookUp({ collection, organization = "", filter, after }: DriverQuery): WireLookUp | undefined {
  const { id } = filter as { id?: unknown }
  if (!isPlainText(id) || after || Object.keys(filter).length !== 1) return undefined
  return { lookUp: tableOf(collection), organization, id }
}

/**
 * SQL of a query, and what it binds; rows begin with what `documentColumns` names. `multi`: whether the organization has
 * documents in the table that no key narrows.
 *
 * A list of values is one ordered search of an index for each of them, which SQLite merges as it goes: for `key IN (…)` it
 * would walk an index of the order asked for, which may be all of the collection.
 */
export function statementOf(query: WireQuery, shape: Shape, multi: boolean): { readonly sql: string; readonly binds: readonly Bound[] } {
  const conditions = [`org=${organizationSql}`, ...query.narrow.map(({ sql }) => (multi ? `(${sql} OR multi IS NOT NULL)` : sql))]
  const own = [
    query.organization,
    ...query.narrow.flatMap(({ binds, ids }) => (ids ? binds.map(asId) : binds)),
    ...(query.after?.binds ?? []),
  ]
  if (query.after) conditions.push(query.after.sql)
  // With an id and no other filter there is one document at most, and nothing to call for. Where SQL says all, the call is for
  // the deadline alone, now and then.
  if (query.filter && (multi || !query.exact)) conditions.push(`mr_matches(${documentColumns(shape)})`)
  else if (query.filter || query.narrow.length === 0) conditions.push("(n&255 OR mr_matches(n))")
  if (query.soundOnly) conditions.push("mr_sound(data)")
  const where = conditions.join(" AND ")
  if (query.count) {
    // Without a limit that is ever reached, a third less.
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

/** A condition that names the values of a path, which an index has before what the order is by. */
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

/** A value that an index is for alone: SQLite takes that index where it reads the value. */
function byLiteral({ indexes }: CollectionSpec, path: string, condition: unknown): Narrowing[] | undefined {
  if (condition === undefined || !indexes.some(({ only }) => only?.[path] === condition)) return undefined
  return [{ sql: `${quoted(columnAt("key", path))}=${literalOf(keyOf(condition as Scalar))}`, binds: [] }]
}

function byKey(path: string, condition: unknown, sparse: boolean): Narrowing[] {
  const narrow = narrowings(quoted(columnAt("key", path)), condition)
  // A sparse index is used where the query says that the document is in it.
  if (sparse && impliesPresence(condition)) narrow.push({ sql: `${quoted(columnAt("has", path))} IS NOT NULL`, binds: [] })
  return narrow
}

/** Whether SQL's narrowing is all that the filter says, of documents without a list at a path that is indexed. */
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

/** Whether a path that has such a value is there. */
function impliesPresence(condition: unknown): boolean {
  return isConditions(condition) ? condition["$eq"] !== undefined && condition["$eq"] !== null : isNarrow(condition) && condition !== null
}

/** Whether the filter is `{ id: text }`, or a list of ids, alone (or empty), for which SQL's narrowing is exact. */
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

/** A range from one to another text, or number. */
function hasBothEnds({ $gt, $gte = $gt, $lt, $lte = $lt }: Readonly<Record<string, unknown>>): boolean {
  return $gte !== undefined && typeof $gte === typeof $lte
}

function narrowing(key: string, operator: string, operand: unknown, isClosed: boolean): Narrowing | undefined {
  if (operator === "$eq" && isNarrow(operand)) return { sql: `${key}=?`, binds: [keyOf(operand)] }
  if (operator === "$in" && Array.isArray(operand) && operand.length <= maxListed && operand.every(isNarrow)) {
    const binds = operand.map(keyOf)
    // Few lengths make few statements, which are kept prepared.
    while (binds.length > 0 && (binds.length & (binds.length - 1)) !== 0) binds.push(binds[0] as Bound)
    return { sql: `${key} IN (${binds.map(() => "?").join(",")})`, binds }
  }
  if (typeof operand !== "number" && !isPlainText(operand)) return undefined
  const [least, beyond] = isClosed ? ["TRUE", "TRUE"] : endsOfType(key, operand)
  if (operator === "$gt" || operator === "$gte") return { sql: `${key}${operator === "$gt" ? ">" : ">="}? AND ${beyond}`, binds: [operand] }
  if (operator === "$lt" || operator === "$lte") return { sql: `${key}${operator === "$lt" ? "<" : "<="}? AND ${least}`, binds: [operand] }
  return undefined
}

/** The other end of a range that has one: of two, SQLite may begin at the farther. Ids are all text, in any storage form. */
function endsOfType(key: string, operand: string | number): readonly [least: string, beyond: string] {
  if (key === "id") return ["TRUE", "TRUE"]
  return typeof operand === "number" ? [`${key}>-9e999`, `${key}<''`] : [`${key}>=''`, `${key}<x''`]
}

function isNarrow(value: unknown): value is Scalar {
  return isScalar(value) && (typeof value !== "string" || isPlainText(value))
}

/** Text that SQLite compares as JavaScript has it. */
function isPlainText(value: unknown): value is string {
  return typeof value === "string" && value.isWellFormed() && !value.includes("\0")
}

function orderSql(path: string, { scope, expires }: CollectionSpec, indexed: ReadonlySet<string>): string {
  if (indexed.has(path)) return quoted(columnAt("key", path))
  // Where the text of a document does not have it.
  if (path === "organization_id" && scope === "organization") return "(SELECT id FROM _organizations WHERE n=org)"
  if (path === expires) return `ifnull(${quoted(columnAt("expires", path))},${keySql(path, plainText)})`
  return isSpeakable(path) ? keySql(path, plainText) : "NULL"
}

/** An id is compared as it is stored. */
function asId(value: Bound): Bound {
  return typeof value === "string" ? idKey(value) : value
}

/** What comes after the values given, in the order asked for. */
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
  // The first condition follows from the others; it is what an index can begin at.
  return { sql: `${keys[0]}${signs[0]}=? AND (${steps.map((step) => `(${step})`).join(" OR ")})`, binds: all }
}
