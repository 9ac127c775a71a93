// SQLite layout of a collection: a rowid table. The organization is a number, the id is its key (id-key.ts), each key has a
// column (keys.ts), and the document is JSON text. For documents of a kilobyte, a WITHOUT ROWID table was a sixth slower. Indexes
// begin with the organization and end with the id.
import { createHash } from "node:crypto"
import type { CollectionSpec } from "../../contract/collection.ts"
import { columnAt, columnsOf, keyOf, literalOf, pathsOf, quoted } from "./keys.ts"

export function tableOf(spec: CollectionSpec): string {
  if (!/^[a-z][a-z0-9_]{0,60}$/.test(spec.name)) throw new Error(`Collection "${spec.name}": a name is snake case, at most 61 characters.`)
  return `"${spec.name}"`
}

/** Columns of a row in binding order: organization, id, multi, the keys, the document. */
export function rowColumns(spec: CollectionSpec): string[] {
  return ["org", "id", "multi", ...columnsOf(spec).map(quoted), "data"]
}

/** SQL for the number of an organization's id. */
export const organizationSql = "(SELECT n FROM _organizations WHERE id=?)"

export interface NamedIndex {
  readonly name: string
  readonly sql: string
  readonly paths: readonly string[]
  /** SQLite's message for a violation. Only for unique indexes. */
  readonly violation: string | undefined
}

/** Returns SQLite's message for a duplicate id. */
export function idViolation(spec: CollectionSpec): string {
  return violationOf(spec, ["id"])
}

/**
 * Returns every index of a collection except the index on (organization, id). Names depend on the definition, so a changed index
 * has another name.
 */
export function indexesOf(spec: CollectionSpec): NamedIndex[] {
  const table = tableOf(spec)
  const named = (kind: string, body: string, paths: readonly string[], violation?: string): NamedIndex => {
    const unique = violation === undefined ? "" : "UNIQUE "
    const name = `${spec.name}__${kind}_${createHash("sha256").update(`${unique}${body}`).digest("hex").slice(0, 12)}`
    return { name, sql: `CREATE ${unique}INDEX "${name}" ON ${table}${body}`, paths, violation }
  }
  const indexes = spec.indexes.map((index) => {
    const paths = pathsOf(index)
    const names = paths.map((path) => (path === "id" ? "id" : columnAt("key", path).name))
    const keys = names.map((name, at) => `"${name}"${index.fields[at]?.startsWith("-") ? " DESC" : ""}`)
    // The id ends the order, unless the index already contains it.
    const end = index.unique || paths.includes("id") ? "" : `,id${index.fields.at(-1)?.startsWith("-") ? " DESC" : ""}`
    const conditions = Object.entries(index.only ?? {}).map(
      ([path, value]) => `${quoted(columnAt("key", path))}=${literalOf(keyOf(value))}`,
    )
    const first = paths[0]
    if (index.sparse && first !== undefined && first !== "id") conditions.push(`${quoted(columnAt("has", first))} IS NOT NULL`)
    const where = conditions.length > 0 ? ` WHERE ${conditions.join(" AND ")}` : ""
    const violation = index.unique ? violationOf(spec, names) : undefined
    return named(index.unique ? "unique" : "by", `(org,${keys.join(",")}${end})${where}`, paths, violation)
  })
  indexes.push(named("multi", "(org) WHERE multi IS NOT NULL", []))
  if (spec.expires !== undefined) {
    const column = quoted(columnAt("expires", spec.expires))
    indexes.push(named("expires", `(${column}) WHERE ${column} IS NOT NULL`, []))
  }
  return indexes
}

function violationOf(spec: CollectionSpec, columns: readonly string[]): string {
  return `UNIQUE constraint failed: ${["org", ...columns].map((column) => `${spec.name}.${column}`).join(", ")}`
}
