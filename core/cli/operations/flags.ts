// Flags of a command, from the input schema of its operation: name, kind and parsing.
import type { AnyOperation } from "../../contract/operation.ts"
import { CommandProblem } from "../../kernel/command.ts"
import { didYouMean } from "../../kernel/guess.ts"
import { type JsonObject, wireSchema } from "../../surface/wire-schema.ts"

export type FlagKind = "text" | "integer" | "number" | "boolean" | "scalar" | "json"

export interface Flag {
  readonly field: string
  /** `--expected-revision`. */
  readonly name: string
  readonly kind: FlagKind
  /** The flag is repeated for each element. */
  readonly list: boolean
  readonly nullable: boolean
  readonly choices: readonly string[] | undefined
  readonly required: boolean
  readonly description: string
  /** JSON; undefined without a default. */
  readonly default: string | undefined
}

/** Names shared by all commands. A field with one of these names gets `--field-<name>`. */
const ownFlags = ["file", "json", "all", "output", "profile", "organization", "help", "version"]

/** Path fields in order. They are also accepted without a flag. */
export function positionalOf(operation: AnyOperation): string[] {
  return [...operation.http.path.matchAll(/\{(\w+)\}/g)].map(([, name = ""]) => name)
}

export function flagsOf(operation: AnyOperation): Flag[] {
  const schema = wireSchema(operation.input, "input")
  const definitions = (schema["$defs"] ?? {}) as Record<string, JsonObject>
  const required = new Set((schema["required"] as string[] | undefined) ?? [])
  const fields = Object.entries((schema["properties"] ?? {}) as Record<string, JsonObject>)
  return fields.map(([field, given]) => {
    const { nullable, inner } = withoutNull(resolved(given, definitions), definitions)
    const items = inner["type"] === "array" ? resolved((inner["items"] ?? {}) as JsonObject, definitions) : undefined
    const list = items !== undefined && kindOf(items, definitions) !== "json"
    const shape = list && items ? items : inner
    return {
      field,
      name: flagName(field),
      kind: kindOf(shape, definitions),
      list,
      nullable,
      choices: choicesOf(shape),
      required: required.has(field),
      description: String(given["description"] ?? inner["description"] ?? ""),
      default: ["", null, undefined].includes(inner["default"] as "" | null | undefined) ? undefined : JSON.stringify(inner["default"]),
    }
  })
}

/** Throws CommandProblem with the name of the flag. */
export function parseFlag(flag: Flag, text: string): unknown {
  if (flag.nullable && text === "null") return null
  if (flag.choices && !flag.choices.includes(text)) {
    throw new CommandProblem(`${flag.name}: "${text}" is not one of ${flag.choices.join(", ")}.${didYouMean(text, flag.choices)}`)
  }
  if (flag.kind === "integer" || flag.kind === "number") return numberOf(flag, text)
  if (flag.kind === "scalar") return scalarOf(text)
  return text
}

/** Returns the placeholder of the flag in help. */
export function placeholderOf({ kind, choices }: Flag): string {
  if (choices) return "<choice>"
  return kind === "scalar" ? "<value>" : `<${kind}>`
}

function flagName(field: string): string {
  const name = field.replaceAll("_", "-")
  return ownFlags.includes(field) || name.startsWith("no-") ? `--field-${name}` : `--${name}`
}

function numberOf({ name, kind }: Flag, text: string): number {
  const value = Number(text)
  if (text.trim() === "" || Number.isNaN(value)) throw new CommandProblem(`${name}: "${text}" is not a number.`)
  if (kind === "integer" && !Number.isInteger(value)) throw new CommandProblem(`${name}: "${text}" is not a whole number.`)
  return value
}

function scalarOf(text: string): unknown {
  if (text === "true" || text === "false") return text === "true"
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text
}

function kindOf(schema: JsonObject, definitions: Record<string, JsonObject>): FlagKind {
  const alternatives = (schema["anyOf"] ?? schema["oneOf"]) as JsonObject[] | undefined
  if (alternatives) {
    const kinds = new Set(alternatives.map((one) => kindOf(resolved(one, definitions), definitions)))
    if (kinds.has("json")) return "json"
    return kinds.size === 1 ? ([...kinds][0] ?? "text") : "scalar"
  }
  const { type } = schema
  if (type === "string") return "text"
  if (type === "integer" || type === "number" || type === "boolean") return type
  return choicesOf(schema) ? "text" : "json"
}

function choicesOf(schema: JsonObject): string[] | undefined {
  const values = schema["enum"]
  return Array.isArray(values) && values.every((value) => typeof value === "string") ? values : undefined
}

function withoutNull(schema: JsonObject, definitions: Record<string, JsonObject>): { nullable: boolean; inner: JsonObject } {
  const { anyOf, type, ...rest } = schema
  if (Array.isArray(type) && type.includes("null")) {
    const types = type.filter((one) => one !== "null")
    return { nullable: true, inner: { ...rest, type: types.length === 1 ? types[0] : types } }
  }
  if (!Array.isArray(anyOf)) return { nullable: false, inner: schema }
  const others = (anyOf as JsonObject[]).filter((one) => one["type"] !== "null")
  if (others.length === anyOf.length) return { nullable: false, inner: schema }
  const [only] = others
  return { nullable: true, inner: others.length === 1 && only ? { ...rest, ...resolved(only, definitions) } : { ...rest, anyOf: others } }
}

function resolved(schema: JsonObject, definitions: Record<string, JsonObject>): JsonObject {
  const name = /^#\/\$defs\/(.+)$/.exec(String(schema["$ref"] ?? ""))?.[1]
  return name === undefined
    ? schema
    : { ...definitions[name], ...Object.fromEntries(Object.entries(schema).filter(([key]) => key !== "$ref")) }
}
