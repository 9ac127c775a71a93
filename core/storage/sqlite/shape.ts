// What the text of a document leaves out because columns of its row have it: the id, the organization, and indexed values
// at the top of the document that their column gives back as they were. A text that has them all the same, as earlier
// versions wrote it, is read alike: of a name that comes twice JSON takes the last value.
import type { CollectionSpec } from "../../contract/collection.ts"
import { idOf } from "./id-key.ts"
import { columnsOf, falseKey, type KeyCell, type KeyColumn, quoted, trueKey } from "./keys.ts"
import { lengthened, type Phrases } from "./phrases.ts"

/** Plain data, since it passes to the threads that read. */
export interface Shape {
  /** Documents carry the id of their organization. */
  readonly scoped: boolean
  readonly fields: readonly ShapeField[]
  readonly phrases: Phrases
}

interface ShapeField {
  readonly name: string
  /** Quoted, for SQL. */
  readonly column: string
  /** The column has text alone. */
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

/** Columns to select for `wholeText`, the text of the document first. */
export function documentColumns({ fields }: Shape): string {
  return ["data", "id", ...fields.map(({ column }) => column)].join(",")
}

/** JSON of the document without what its row has beside it, its phrases as they are. */
export function storedText({ scoped, fields }: Shape, document: object, organization: string | undefined): string {
  const rest: Record<string, unknown> = { ...document, id: undefined }
  if (scoped && rest["organization_id"] === organization) rest["organization_id"] = undefined
  for (const { name, onlyText } of fields) if (isGivenBack(rest[name], onlyText)) rest[name] = undefined
  return JSON.stringify(rest)
}

/** JSON of the whole document; `row` is what `documentColumns` selects. Not JSON where the stored text is damaged. */
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

/** Whether `jsonOf` makes the same value of the cell that is kept for it. */
function isGivenBack(value: unknown, onlyText: boolean): boolean {
  if (typeof value === "string") return value.isWellFormed() && !value.includes("\0")
  return !onlyText && (typeof value === "boolean" || Number.isFinite(value))
}

/** JSON of the value that a cell was read from; undefined where the text has it, or nothing has. */
function jsonOf(cell: KeyCell): string | undefined {
  if (typeof cell === "string") return JSON.stringify(cell)
  if (typeof cell === "number") return Number.isFinite(cell) ? String(cell) : undefined
  if (cell?.length !== 1) return undefined
  return cell[0] === falseKey[0] ? "false" : cell[0] === trueKey[0] ? "true" : undefined
}
