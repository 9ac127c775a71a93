// The shape of a document's text. The text omits values from columns of its row: the id, the organization, and top-level indexed
// values with an exact copy in their column. Texts of earlier versions include these values and read the same. JSON uses the last
// value of a repeated name.
import type { CollectionSpec } from "../../contract/collection.ts"
import { idOf } from "./id-key.ts"
import { columnsOf, falseKey, type KeyCell, type KeyColumn, quoted, trueKey } from "./keys.ts"
import { lengthened, type Phrases } from "./phrases.ts"

/** Plain data, because it passes to the reader threads. */
export interface Shape {
  /** True if documents have the id of their organization. */
  readonly scoped: boolean
  readonly fields: readonly ShapeField[]
  readonly phrases: Phrases
}

interface ShapeField {
  readonly name: string
  /** Quoted for SQL. */
  readonly column: string
  /** True if the column contains only text. */
  readonly onlyText: boolean
}

export function shapeOf(spec: CollectionSpec, phrases: Phrases = [], columns: readonly KeyColumn[] = columnsOf(spec)): Shape {
  const fields = new Map<string, ShapeField>()
  for (const column of columns) {
    const { kind, path } = column
    if (kind === "has" || path.includes(".") || path === "__proto__" || fields.has(path)) continue
    if (path === "organization_id" && spec.scope === "organization") continue
    fields.set(path, { name: path, column: quoted(column), onlyText: kind === "expires" })
  }
  return { scoped: spec.scope === "organization", fields: [...fields.values()], phrases }
}

/** Returns the columns to select for `wholeText`, with the document's text first. */
export function documentColumns({ fields }: Shape): string {
  return ["data", "id", ...fields.map(({ column }) => column)].join(",")
}

/** Returns JSON of the document without the parts in its row. Phrases are not replaced. */
export function storedText({ scoped, fields }: Shape, document: object, organization: string | undefined): string {
  const rest: Record<string, unknown> = { ...document, id: undefined }
  if (scoped && rest["organization_id"] === organization) rest["organization_id"] = undefined
  for (const { name, onlyText } of fields) if (isGivenBack(rest[name], onlyText)) rest[name] = undefined
  return JSON.stringify(rest)
}

/** Returns JSON of the whole document from a row of `documentColumns`. The result is not JSON if the stored text is damaged. */
export function wholeText({ scoped, fields, phrases }: Shape, organization: string, row: readonly KeyCell[]): string {
  const data = lengthened(String(row[0]), phrases)
  let text = `{"id":${JSON.stringify(idOf(row[1] as string | Uint8Array))}`
  if (scoped) text += `,"organization_id":${JSON.stringify(organization)}`
  for (let at = 0; at < fields.length; at++) {
    const value = jsonOf(row[at + 2] ?? null)
    if (value !== undefined) text += `,"${(fields[at] as ShapeField).name}":${value}`
  }
  return data === "{}" ? `${text}}` : `${text},${data.slice(1)}`
}

/** Returns true if `jsonOf` restores the same value from its cell. */
function isGivenBack(value: unknown, onlyText: boolean): boolean {
  if (typeof value === "string") return value.isWellFormed() && !value.includes("\0")
  return !onlyText && (typeof value === "boolean" || Number.isFinite(value))
}

/** Returns JSON of a cell's value. Returns undefined if the text has the value, or there is no value. */
function jsonOf(cell: KeyCell): string | undefined {
  if (typeof cell === "string") return JSON.stringify(cell)
  if (typeof cell === "number") return Number.isFinite(cell) ? String(cell) : undefined
  if (cell?.length !== 1) return undefined
  return cell[0] === falseKey[0] ? "false" : cell[0] === trueKey[0] ? "true" : undefined
}
