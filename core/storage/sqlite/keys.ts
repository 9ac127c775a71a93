// Keys for the indexes, conditions and order of documents. A key is a document's value at a path, and never NULL.
// Keys have a single order over all types: absent and null (-Infinity), numbers, text, then blobs for objects, lists, false and
// true.
// Keys of indexed paths are computed from the document and stored in columns. Expressions would make SQLite parse the text for
// every index. Other paths use expressions.
import type { CollectionSpec } from "../../contract/collection.ts"
import type { Scalar } from "../../contract/store.ts"

export type Bound = number | string | Uint8Array
/** A cell of a key column. NULL if the column does not apply to the document. */
export type KeyCell = Bound | null

const absent = Number.NEGATIVE_INFINITY
// Each key has its own buffer. A slice of Node's pool would copy the whole pool between threads.
export const [falseKey, trueKey] = [Uint8Array.of(0x32), Uint8Array.of(0x33)]

/** Returns the key of a plain value. */
export function keyOf(value: Scalar): Bound {
  if (value === null) return absent
  if (typeof value === "boolean") return value ? trueKey : falseKey
  return value
}

/** Returns SQL for the key at a path without a column. `data` is SQL for the document's text. */
export function keySql(path: string, data = "data"): string {
  if (path === "id") return "id"
  const at = jsonPath(path)
  const blob = (rank: number) => `CAST('${rank}'||json_extract(${data},${at}) AS BLOB)`
  return `CASE json_type(${data},${at}) WHEN 'object' THEN ${blob(0)} WHEN 'array' THEN ${blob(1)} WHEN 'false' THEN x'32' WHEN 'true' THEN x'33' ELSE ifnull(json_extract(${data},${at}),-9e999) END`
}

/** Quotes the path for SQL, and each part for SQLite's JSON functions. */
function jsonPath(path: string): string {
  const parts = path.split(".").map((part) => `."${part}"`)
  return `'$${parts.join("").replaceAll("'", "''")}'`
}

/** Returns true if SQL can express the path. The matcher handles other paths. */
export function isSpeakable(path: string): boolean {
  return !path.includes('"') && !path.includes("\\")
}

export function pathsOf(index: { readonly fields: readonly string[] }): string[] {
  return index.fields.map((field) => field.replace(/^-/, ""))
}

export function indexedPaths(spec: CollectionSpec): Set<string> {
  return new Set(spec.indexes.flatMap((index) => [...pathsOf(index), ...Object.keys(index.only ?? {})]).filter((path) => path !== "id"))
}

/** Returns a key as SQL. */
export function literalOf(key: Bound): string {
  if (typeof key === "object") return `x'${Buffer.from(key).toString("hex")}'`
  return typeof key === "number" ? String(key) : `'${key.replaceAll("'", "''")}'`
}

/**
 * A column beside the document. It has the key at an indexed path, the presence of a sparse index's first field, or the expiry
 * time.
 */
export interface KeyColumn {
  readonly kind: "key" | "has" | "expires"
  readonly path: string
  /** Unquoted. */
  readonly name: string
}

export function columnsOf(spec: CollectionSpec): KeyColumn[] {
  const columns: KeyColumn[] = []
  for (const path of indexedPaths(spec)) columns.push(columnAt("key", path))
  const sparse = spec.indexes.flatMap((index) => (index.sparse ? pathsOf(index).slice(0, 1) : []))
  for (const path of new Set(sparse)) if (path !== "id") columns.push(columnAt("has", path))
  if (spec.expires !== undefined) columns.push(columnAt("expires", spec.expires))
  return columns
}

export function columnAt(kind: KeyColumn["kind"], path: string): KeyColumn {
  if (!isSpeakable(path)) throw new Error(`Path "${path}" holds a quotation mark or a backslash and cannot be indexed.`)
  // SQLite's names ignore case but paths do not, so every capital is marked.
  const marked = path.replaceAll(/[\^A-Z]/g, "^$&")
  return { kind, path, name: kind === "key" ? `$${marked}` : `${kind} $${marked}` }
}

/** Returns the key column with this name. Returns undefined if the name is not a key column. */
export function columnNamed(name: string): KeyColumn | undefined {
  const { kind = "key", path } = /^(?:(?<kind>has|expires) )?\$(?<path>.+)$/s.exec(name)?.groups ?? {}
  return path === undefined ? undefined : { kind: kind as KeyColumn["kind"], path: path.replaceAll(/\^(.)/gs, "$1"), name }
}

export function quoted({ name }: KeyColumn): string {
  return `"${name}"`
}

/** Reads the cells beside a document: `multi`, then a cell per column. */
export type ReadKeys = (document: object, cells: { push(cell: KeyCell): unknown }) => void

/**
 * Appends `multi` and the cells of the columns. `multi` is 1 if an indexed path contains a list, with many values for one key. It
 * is also 1 for text that SQLite compares differently from JavaScript. These documents pass every SQL condition.
 */
export function keyReader(columns: readonly KeyColumn[]): ReadKeys {
  const steps: Step[] = columns.map(({ kind, path }) => ({ read: cellOf[kind], isKey: kind === "key", parts: path.split(".") }))
  return (document, cells) => {
    const values = steps.map(({ parts }) => valueAt(document, parts))
    cells.push(steps.some(({ isKey }, at) => isKey && isMany(values[at])) ? 1 : null)
    for (let at = 0; at < steps.length; at++) cells.push((steps[at] as Step).read(values[at]))
  }
}

interface Step {
  readonly read: (value: unknown) => KeyCell
  readonly isKey: boolean
  readonly parts: readonly string[]
}

const cellOf: Record<KeyColumn["kind"], (value: unknown) => KeyCell> = {
  key: documentKey,
  has: (value) => (value === undefined || value === withinList ? null : 1),
  // Only text is a time.
  expires: (value) => (typeof value === "string" ? value : null),
}

/** Marks a path that continues inside a list, because SQL's paths end there. */
const withinList = Symbol("within a list")

function isMany(value: unknown): boolean {
  if (typeof value === "string") return !value.isWellFormed() || value.includes("\0")
  return value === withinList || Array.isArray(value)
}

/** Returns the value at a path of the document's JSON, or undefined. */
function valueAt(document: object, parts: readonly string[]): unknown {
  let value: unknown = document
  for (let at = 0; at < parts.length; at++) {
    if (Array.isArray(value)) return withinList
    if (typeof value !== "object" || value === null) return undefined
    const part = parts[at] as string
    value = Object.hasOwn(value, part) ? asWritten((value as Record<string, unknown>)[part]) : undefined
  }
  return value
}

/** Returns the JSON form of a value if it differs: no Infinity, no functions, dates as text. */
function asWritten(value: unknown): unknown {
  switch (typeof value) {
    case "string":
    case "boolean":
    case "undefined":
      return value
    case "number":
      // Drops the sign of -0, because JSON does not keep it.
      return Number.isFinite(value) ? value + 0 : null
    case "object":
      if (value === null || Array.isArray(value)) return value
      if ("toJSON" in value || Object.prototype.toString.call(value) !== "[object Object]") return rewritten(value)
      return value
    default:
      return rewritten(value)
  }
}

function rewritten(value: unknown): unknown {
  const text = JSON.stringify(value)
  return text === undefined ? undefined : JSON.parse(text)
}

function documentKey(value: unknown): Bound {
  if (value === undefined || value === withinList) return absent
  if (typeof value === "string") return value.isWellFormed() ? value : `${value.toWellFormed()}\0${JSON.stringify(value)}`
  if (typeof value !== "object" || value === null) return keyOf(value as Scalar)
  return new TextEncoder().encode(`${Array.isArray(value) ? 1 : 0}${JSON.stringify(value)}`)
}
