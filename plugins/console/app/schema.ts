// What a JSON Schema of an input says of one field, as forms and filters need it.
import type { Operation } from "./api.ts"
import { exactNumber, parseExact } from "./exact-json.ts"
import { momentOf } from "./show.tsx"

export interface Schema {
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly description?: string
  readonly default?: unknown
  readonly readOnly?: boolean
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly format?: string
  readonly maxLength?: number
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
}

/** What can be set; what is only accepted unchanged is left out. */
export function fieldsOf({ input }: Pick<Operation, "input">): [name: string, schema: Schema][] {
  return Object.entries((input as Schema).properties ?? {}).filter(([, { readOnly = false }]) => !readOnly)
}

export function isRequired({ input }: Pick<Operation, "input">, name: string): boolean {
  return ((input as Schema).required ?? []).includes(name)
}

const branchesOf = (schema: Schema): readonly Schema[] => (schema.anyOf ? schema.anyOf.flatMap(branchesOf) : [schema])

/** Names of its types; none where any is allowed. */
export function typesOf(schema: Schema): readonly string[] {
  return [
    ...new Set(
      branchesOf(schema).flatMap(({ type = [], enum: choices = [] }) => (type.length > 0 ? type : choices.map((choice) => typeof choice))),
    ),
  ]
}

/** A moment, which people write and read in their own time zone. */
export function isMoment(schema: Schema): boolean {
  return branchesOf(schema).some(({ format }) => format === "date-time")
}

/** Values to choose of; undefined where there are others. */
export function choicesOf(schema: Schema): string[] | undefined {
  // A text that stands for true or false is there for queries.
  if (typesOf(schema).includes("boolean")) return ["true", "false"]
  const branches = branchesOf(schema).filter(({ type }) => type !== "null")
  const choices = branches.map(({ enum: ownValues, const: only }) => ownValues ?? (only === undefined ? undefined : [only]))
  if (choices.length === 0 || choices.includes(undefined)) return undefined
  return [...new Set(choices.flatMap((values) => values ?? []).map(String))].filter((choice) => choice !== "")
}

/** A list of texts or numbers: one a line. */
export function isLines(schema: Schema): boolean {
  const [branch, ...otherBranches] = branchesOf(schema).filter(({ type }) => type !== "null")
  const types = branch?.items ? typesOf(branch.items) : []
  return (
    otherBranches.length === 0 &&
    branch?.type === "array" &&
    types.length > 0 &&
    types.every((type) => type !== "object" && type !== "array")
  )
}

export function isText(schema: Schema): boolean {
  const types = typesOf(schema)
  return types.length > 0 && types.every((type) => ["string", "integer", "number", "null"].includes(type))
}

/** A text of several lines. */
export function isLong(schema: Schema): boolean {
  return isText(schema) && branchesOf(schema).some(({ type, maxLength = 0 }) => type === "string" && maxLength > 500)
}

/** A value as a form shows it. */
export function textOf(value: unknown, schema: Schema): string {
  if (value === null || value === undefined) return ""
  if (isLines(schema) && Array.isArray(value)) return value.join("\n")
  return typeof value === "object" ? JSON.stringify(value, null, 2) : String(value)
}

/** What a form's text stands for. Throws SyntaxError where a list or an object is not JSON. */
export function valueIn(text: string, schema: Schema): unknown {
  const types = typesOf(schema)
  if (text === "" && types.includes("null")) return null
  if (isLines(schema)) {
    const lines = text.split("\n").filter((line) => line.trim() !== "")
    return lines.map((line) => valueIn(line.trim(), branchesOf(schema).find(({ items }) => items)?.items ?? {}))
  }
  if (types.includes("boolean") && (text === "true" || text === "false")) return text === "true"
  if (types.includes("integer") || types.includes("number")) return exactNumber(text) ?? text
  if (isMoment(schema)) return momentOf(text)
  if (types.includes("string")) return text
  const value = parseExact(text)
  if (value === undefined) throw new SyntaxError("not JSON")
  return value
}
