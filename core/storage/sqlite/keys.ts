// Keys: what a document is indexed, narrowed and ordered by. A key is a document's value at a path in one order over all
// types, never NULL: absent and null as -Infinity, numbers, text, then blobs: objects, lists, false, true. Those of
// indexed paths are read from the document at hand and stored in columns of their own (with expressions over the text,
// SQLite parsed it for every index); those of other paths are such expressions.
import type { CollectionSpec } from "../../contract/collection.ts"
import type { Scalar } from "../../contract/store.ts"

export type Bound = number | string | Uint8Array
/** A cell of a row's columns: NULL where a column is not for this document. */
export type KeyCell = Bound | null

const absent = Number.NEGATIVE_INFINITY
// Each with a buffer of its own: a slice of Node's pool would be copied between threads with all of it.
export const [falseKey, trueKey] = [Uint8Array.of(0x32), Uint8Array.of(0x33)]

/** What a plain value is compared as. */
export function keyOf(value: Scalar): Bound {
  if (value === null) return absent
  if (typeof value === "boolean") return value ? trueKey : falseKey
  return value
}

/** SQL for a document's key at a path that has no column; `data`: SQL for its text. */
export function keySql(path: string, data = "data"): string {
  if (path === "id") return "id"
  const at = jsonPath(path)
  const blob = (rank: number) => `CAST('${rank}'||json_extract(${data},${at}) AS BLOB)`
  return `CASE json_type(${data},${at}) WHEN 'object' THEN ${blob(0)} WHEN 'array' THEN ${blob(1)} WHEN 'false' THEN x'32' WHEN 'true' THEN x'33' ELSE ifnull(json_extract(${data},${at}),-9e999) END`
}

/** Quoted for SQL; each part quoted for SQLite's JSON functions. */
function jsonPath(path: string): string {
  const parts = path.split(".").map((part) => `."${part}"`)
  return `'$${parts.join("").replaceAll("'", "''")}'`
}

/** A path that SQL can speak of; others are left to the matcher. */
export function isSpeakable(path: string): boolean {
  return !path.includes('"') && !path.includes("\\")
}

export function pathsOf(index: { readonly fields: readonly string[] }): string[] {
  return index.fields.map((field) => field.replace(/^-/, ""))
}

export function indexedPaths(spec: CollectionSpec): Set<string> {
  return new Set(spec.indexes.flatMap((index) => [...pathsOf(index), ...Object.keys(index.only ?? {})]).filter((path) => path !== "id"))
}

/** A key in SQL. */
export function literalOf(key: Bound): string {
  if (typeof key === "object") return `x'${Buffer.from(key).toString("hex")}'`
  return typeof key === "number" ? String(key) : `'${key.replaceAll("'", "''")}'`
}

/** A column beside the document: the key at an indexed path, whether a sparse index's first field is there, or when it expires. */
export interface KeyColumn {
  readonly kind: "key" | "has" | "expires"
  readonly path: string
  /** Not quoted. */
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
  // SQLite's names know no case, paths do: every capital is marked.
  const marked = path.replaceAll(/[\^A-Z]/g, "^$&")
  return { kind, path, name: kind === "key" ? `$${marked}` : `${kind} $${marked}` }
}

/** The column of such a name; undefined where no key stands in it. */
export function columnNamed(name: string): KeyColumn | undefined {
  const { kind = "key", path } = /^(?:(?<kind>has|expires) )?\$(?<path>.+)$/s.exec(name)?.groups ?? {}
  return path === undefined ? undefined : { kind: kind as KeyColumn["kind"], path: path.replaceAll(/\^(.)/gs, "$1"), name }
}

export function quoted({ name }: KeyColumn): string {
  return `"${name}"`
}

/** Reads what stands beside a document: whether a list is met (`multi`), then a cell for each column. */
export type ReadKeys = (document: object, cells: { push(cell: KeyCell): unknown }) => void

/**
 * Appends `multi` and the columns' cells. `multi` is 1 where an indexed path meets a list, which has many values where
 * the key is one, or text that SQLite would not compare as JavaScript does; such documents pass every narrowing.
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

/** Stands for what a path would lead to inside a list: SQL's paths end there. */
const withinList = Symbol("within a list")

function isMany(value: unknown): boolean {
  if (typeof value === "string") return !value.isWellFormed() || value.includes("\0")
  return value === withinList || Array.isArray(value)
}

/** The value that JSON text of the document has at a path; undefined where there is none. */
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

/** What JSON makes of a value, where that is another: no Infinity, no functions, dates as text. */
function asWritten(value: unknown): unknown {
  switch (typeof value) {
    case "string":
    case "boolean":
    case "undefined":
      return value
    case "number":
      // Without the sign of -0, which JSON does not keep.
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
