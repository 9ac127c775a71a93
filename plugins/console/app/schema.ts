// Field information from a JSON Schema, for forms and filters.
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

/** Returns the writable fields. */
export function fieldsOf({ input }: Pick<Operation, "input">): [name: string, schema: Schema][] {
  return Object.entries((input as Schema).properties ?? {}).filter(([, { readOnly = false }]) => !readOnly)
}

export function isRequired({ input }: Pick<Operation, "input">, name: string): boolean {
  return ((input as Schema).required ?? []).includes(name)
}

const branchesOf = (schema: Schema): readonly Schema[] => (schema.anyOf ? schema.anyOf.flatMap(branchesOf) : [schema])

/** Returns the type names. Empty if any type is allowed. */
export function typesOf(schema: Schema): readonly string[] {
  return [
    ...new Set(
      branchesOf(schema).flatMap(({ type = [], enum: choices = [] }) => (type.length > 0 ? type : choices.map((choice) => typeof choice))),
    ),
  ]
}

/** Returns true for a date and time. People read and write it in their own time zone. */
export function isMoment(schema: Schema): boolean {
  return branchesOf(schema).some(({ format }) => format === "date-time")
}

/** Returns the selectable values. Undefined if other values are allowed. */
export function choicesOf(schema: Schema): string[] | undefined {
  // Texts for true or false exist for queries.
  if (typesOf(schema).includes("boolean")) return ["true", "false"]
  const branches = branchesOf(schema).filter(({ type }) => type !== "null")
  const choices = branches.map(({ enum: ownValues, const: only }) => ownValues ?? (only === undefined ? undefined : [only]))
  if (choices.length === 0 || choices.includes(undefined)) return undefined
  return [...new Set(choices.flatMap((values) => values ?? []).map(String))].filter((choice) => choice !== "")
}

/** Returns true for a list of texts or numbers. The form has one line for each. */
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

/** Returns true for a text of several lines. */
export function isLong(schema: Schema): boolean {
  return isText(schema) && branchesOf(schema).some(({ type, maxLength = 0 }) => type === "string" && maxLength > 500)
}

/** Formats a value for a form. */
export function textOf(value: unknown, schema: Schema): string {
  if (value === null || value === undefined) return ""
  if (isLines(schema) && Array.isArray(value)) return value.join("\n")
  return typeof value === "object" ? JSON.stringify(value, null, 2) : String(value)
}

/** Parses a form text. Throws SyntaxError if a list or object is not JSON. */
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
