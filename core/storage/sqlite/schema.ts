// How a collection lies in SQLite: one rowid table (documents of a kilobyte made a WITHOUT ROWID table a sixth slower),
// the document as JSON text, and expression indexes that begin with the organization and end with the id.
// A key is a document's value at a path in one order over all types, never NULL: absent and null as -Infinity, numbers,
// text, then blobs: objects, lists, false, true. `multi` marks documents in which an indexed path meets a list, since
// such a path has many values and its key only one.
import { createHash } from "node:crypto"
import type { CollectionSpec, Document, IndexSpec } from "../../contract/collection.ts"
import type { Scalar } from "../../contract/store.ts"

export type Bound = number | string | Uint8Array

const absent = Number.NEGATIVE_INFINITY
const [falseKey, trueKey] = [Buffer.from("2"), Buffer.from("3")]

/** What a plain value is compared as. */
export function keyOf(value: Scalar): Bound {
  if (value === null) return absent
  if (typeof value === "boolean") return value ? trueKey : falseKey
  return value
}

/** SQL for a document's key at a path. */
export function keySql(path: string): string {
  if (path === "id") return "id"
  const at = jsonPath(path)
  const blob = (rank: number) => `CAST('${rank}'||json_extract(data,${at}) AS BLOB)`
  return `CASE json_type(data,${at}) WHEN 'object' THEN ${blob(0)} WHEN 'array' THEN ${blob(1)} WHEN 'false' THEN x'32' WHEN 'true' THEN x'33' ELSE ifnull(json_extract(data,${at}),-9e999) END`
}

/** Quoted for SQL; each part quoted for SQLite's JSON functions. */
export function jsonPath(path: string): string {
  const parts = path.split(".").map((part) => {
    if (part.includes('"')) throw new Error(`Path "${path}" holds a quotation mark and cannot be indexed.`)
    return `."${part}"`
  })
  return `'$${parts.join("").replaceAll("'", "''")}'`
}

/** A path that SQL can speak of; others are left to the matcher. */
export function isSpeakable(path: string): boolean {
  return !path.includes('"') && !path.includes("\\")
}

export function tableOf(spec: CollectionSpec): string {
  if (!/^[a-z][a-z0-9_]{0,60}$/.test(spec.name)) throw new Error(`Collection "${spec.name}": a name is snake case, at most 61 characters.`)
  return `"${spec.name}"`
}

export function pathsOf(index: IndexSpec): string[] {
  return index.fields.map((field) => field.replace(/^-/, ""))
}

export function indexedPaths(spec: CollectionSpec): Set<string> {
  return new Set(spec.indexes.flatMap(pathsOf).filter((path) => path !== "id"))
}

export interface NamedIndex {
  readonly name: string
  readonly sql: string
  readonly paths: readonly string[]
}

/** Every index of a collection but the one on (organization, id). Names follow from what an index is, so a changed one is another. */
export function indexesOf(spec: CollectionSpec): NamedIndex[] {
  const table = tableOf(spec)
  const named = (kind: string, body: string, paths: readonly string[], unique = ""): NamedIndex => {
    const name = `${spec.name}__${kind}_${createHash("sha256").update(`${unique}${body}`).digest("hex").slice(0, 12)}`
    return { name, sql: `CREATE ${unique}INDEX "${name}" ON ${table}${body}`, paths }
  }
  const indexes = spec.indexes.map((index) => {
    const paths = pathsOf(index)
    const keys = index.fields.map((field) => (field.startsWith("-") ? `${keySql(field.slice(1))} DESC` : keySql(field)))
    const end = index.unique ? "" : `,id${index.fields.at(-1)?.startsWith("-") ? " DESC" : ""}`
    const where = index.sparse && paths[0] !== undefined ? ` WHERE json_type(data,${jsonPath(paths[0])}) IS NOT NULL` : ""
    return named(index.unique ? "unique" : "by", `(org,${keys.join(",")}${end})${where}`, paths, index.unique ? "UNIQUE " : "")
  })
  indexes.push(named("multi", "(org) WHERE multi IS NOT NULL", []))
  if (spec.expires !== undefined) {
    const at = `json_extract(data,${jsonPath(spec.expires)})`
    indexes.push(named("expires", `(${at}) WHERE ${at} IS NOT NULL`, []))
  }
  return indexes
}

/** 1 where an indexed path meets a list, else null. */
export function multiOf(paths: readonly (readonly string[])[], document: Document | Record<string, unknown>): 1 | null {
  for (const path of paths) {
    let value: unknown = document
    for (const segment of path) {
      if (Array.isArray(value) || typeof value !== "object" || value === null) break
      value = Object.hasOwn(value, segment) ? (value as Record<string, unknown>)[segment] : undefined
    }
    if (Array.isArray(value)) return 1
  }
  return null
}
