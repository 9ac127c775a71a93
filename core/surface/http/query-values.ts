// Converts query values to the types of the operation's schema. `limit=5` becomes a number for a number field; a single value
// becomes a list for a list field. Other values stay text for the schema to refuse.
import type { AnyOperation } from "../../contract/operation.ts"
import { parsedJson } from "../../kernel/json.ts"
import { isRounded } from "../../kernel/rounded-integer.ts"
import { type JsonObject, wireSchema } from "../wire-schema.ts"
import { refuseRounded } from "./json-body.ts"

type Query = ReadonlyMap<string, readonly string[]>

interface Field {
  /** Accepted types, as JSON Schema type names. */
  readonly types: ReadonlySet<string>
  /** Element types of an accepted list. */
  readonly items: ReadonlySet<string>
}

const known = new WeakMap<AnyOperation, ReadonlyMap<string, Field>>()
const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** Never throws: values of unknown names stay text. An empty value counts as absent unless the schema accepts text. */
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

/** An integer beyond the exact range of a number stays text. The schema refuses it. */
function numberOf(types: ReadonlySet<string>, text: string): number | string {
  const value = Number(text)
  return types.has("number") && isRounded(value, text) ? text : value
}

const maxInt64 = 2n ** 63n - 1n

/** Returns true if an integer field has a value outside int64. A number would round it into the range. */
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

/** Returns the alternatives of a schema, with references resolved. */
function alternatives(schema: JsonObject, definitions: Record<string, JsonObject>, depth = 0): JsonObject[] {
  const name = /^#\/\$defs\/(.+)$/.exec(String(schema["$ref"] ?? ""))?.[1]
  const target = name === undefined ? schema : (definitions[name] ?? {})
  const choices = (target["anyOf"] ?? target["oneOf"]) as JsonObject[] | undefined
  if (!choices || depth > 5) return [target]
  return choices.flatMap((choice) => alternatives(choice, definitions, depth + 1))
}
