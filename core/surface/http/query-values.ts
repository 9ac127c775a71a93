// The values of a query string as an operation's schema means them: `limit=5` is a number where the schema says number,
// a name given once is a list where it says list. What cannot be read so stays text, for the schema to refuse.
import type { AnyOperation } from "../../contract/operation.ts"
import { parsedJson } from "../../kernel/json.ts"
import { isRounded } from "../../kernel/rounded-integer.ts"
import { type JsonObject, wireSchema } from "../wire-schema.ts"
import { refuseRounded } from "./json-body.ts"

type Query = ReadonlyMap<string, readonly string[]>

interface Field {
  /** What the schema takes, as JSON Schema names types. */
  readonly types: ReadonlySet<string>
  /** Of the elements, where it takes a list. */
  readonly items: ReadonlySet<string>
}

const known = new WeakMap<AnyOperation, ReadonlyMap<string, Field>>()
const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** Throws nothing: an unknown name stays text. A name with nothing behind it counts as absent where the schema takes no text. */
export function queryValues(operation: AnyOperation, query: Query): Record<string, unknown> {
  const fields = known.get(operation) ?? fieldsOf(operation)
  known.set(operation, fields)
  const values = [...query].flatMap(([name, texts]): [string, unknown][] => {
    const value = meantBy(fields.get(name), texts)
    return value === undefined ? [] : [[name, value]]
  })
  return Object.fromEntries(values)
}

function meantBy(field: Field | undefined, texts: readonly string[]): unknown {
  const [text = ""] = texts
  if (!field) return texts.length === 1 ? text : texts
  const single = texts.length === 1 && !(field.types.has("array") && !field.types.has("string"))
  if (!single) return texts.map((one) => scalarOf(field.items, one))
  return text === "" && !field.types.has("string") && field.types.size > 0 ? undefined : scalarOf(field.types, text)
}

function scalarOf(types: ReadonlySet<string>, text: string): unknown {
  if (types.has("string") || types.size === 0) return text
  if ((types.has("number") || types.has("integer")) && number.test(text) && !isBeyondInt64(types, text)) return numberOf(types, text)
  if (types.has("boolean") && (text === "true" || text === "false")) return text === "true"
  return types.has("object") ? objectOf(text) : text
}

/** An integer that a number cannot hold stays text, so the schema refuses it. */
function numberOf(types: ReadonlySet<string>, text: string): number | string {
  const value = Number(text)
  return types.has("number") && isRounded(value, text) ? text : value
}

const maxInt64 = 2n ** 63n - 1n

/** Returns true for an integer field whose value has no int64. As a number it would be rounded into the range. */
function isBeyondInt64(types: ReadonlySet<string>, text: string): boolean {
  if (types.has("number") || !/^-?\d+$/.test(text)) return false
  const value = BigInt(text)
  return value > maxInt64 || value < -maxInt64 - 1n
}

function objectOf(text: string): unknown {
  const value = parsedJson(text)
  if (typeof value !== "object" || value === null) return text
  refuseRounded(text)
  return value
}

function fieldsOf({ input }: AnyOperation): Map<string, Field> {
  const schema = wireSchema(input, "input")
  const definitions = (schema["$defs"] ?? {}) as Record<string, JsonObject>
  const properties = Object.entries((schema["properties"] ?? {}) as Record<string, JsonObject>)
  return new Map(
    properties.map(([name, one]) => {
      const lists = alternatives(one, definitions).filter(({ type }) => type === "array")
      const items = lists.flatMap((list) => typesOf((list["items"] ?? {}) as JsonObject, definitions))
      return [name, { types: new Set(typesOf(one, definitions)), items: new Set(items) }]
    }),
  )
}

function typesOf(schema: JsonObject, definitions: Record<string, JsonObject>): string[] {
  return alternatives(schema, definitions).flatMap((one) => {
    const values = (one["enum"] as unknown[] | undefined) ?? (one["const"] === undefined ? [] : [one["const"]])
    return one["type"] === undefined ? values.map((value) => typeof value) : ([one["type"]].flat() as string[])
  })
}

/** The schemas of which one has to fit, references followed. */
function alternatives(schema: JsonObject, definitions: Record<string, JsonObject>, depth = 0): JsonObject[] {
  const name = /^#\/\$defs\/(.+)$/.exec(String(schema["$ref"] ?? ""))?.[1]
  const target = name === undefined ? schema : (definitions[name] ?? {})
  const choices = (target["anyOf"] ?? target["oneOf"]) as JsonObject[] | undefined
  if (!choices || depth > 5) return [target]
  return choices.flatMap((choice) => alternatives(choice, definitions, depth + 1))
}
