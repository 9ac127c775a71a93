// JSON Schema for language models. Anthropic, OpenAI and Gemini each accept a different part of JSON Schema. This file rewrites a
// schema to the keywords accepted by all three. The service itself checks inputs with the full schema.
import type { JsonObject } from "../wire-schema.ts"

/** Keywords accepted by Anthropic, OpenAI and Gemini. `format` is only `date-time`; enums are strings. */
export const portableKeywords = [
  "type",
  "description",
  "properties",
  "required",
  "items",
  "enum",
  "anyOf",
  "format",
  "minimum",
  "maximum",
  "minItems",
  "maxItems",
] as const

interface Place {
  readonly definitions: JsonObject
  /** Definitions enclosing this place. A reference to one of them is recursive. */
  readonly within: readonly string[]
}

/** Rewrites a schema to portable keywords. Leaves out read-only fields. The root has no `anyOf`. */
export function portableSchema(schema: JsonObject): JsonObject {
  return portable(schema, { definitions: (schema["$defs"] ?? {}) as JsonObject, within: [] })
}

function portable(schema: JsonObject, place: Place): JsonObject {
  if (typeof schema["$ref"] === "string") return referred(schema, place)
  const choices = choicesOf(schema)
  if (choices)
    return described(
      union(
        choices.map((choice) => portable(choice, place)),
        schema,
      ),
      schema,
    )
  if (Array.isArray(schema["allOf"]))
    return described(merged((schema["allOf"] as JsonObject[]).map((part) => portable(part, place))), schema)
  if ("const" in schema) return described(constant(schema["const"]), schema)
  if (Array.isArray(schema["enum"])) return described(enumeration(schema["enum"]), schema)
  const type = schema["type"]
  if (type === "object" || schema["properties"]) return described(object(schema, place), schema)
  if (type === "array") return described(list(schema, place), schema)
  if (type === "integer" || type === "number") return described(number(schema, type), schema)
  if (type === "string") return described(text(schema), schema)
  if (type === "boolean" || type === "null") return described({ type }, schema)
  return described(schema["description"] === undefined ? { type: "object", description: "Any JSON value." } : { type: "object" }, schema)
}

function referred(schema: JsonObject, place: Place): JsonObject {
  const { $ref: reference, ...beside } = schema
  const name = String(reference).replace(/^#\/\$defs\//, "")
  const target = place.definitions[name] as JsonObject | undefined
  if (!target || place.within.includes(name)) return described({ type: "object", description: "The same shape again." }, schema)
  return portable({ ...target, ...beside }, { ...place, within: [...place.within, name] })
}

/** Alternatives of the schema: `anyOf`, `oneOf`, or several types. */
function choicesOf(schema: JsonObject): JsonObject[] | undefined {
  const { anyOf, oneOf, type, ...rest } = schema
  if (Array.isArray(anyOf ?? oneOf)) return (anyOf ?? oneOf) as JsonObject[]
  if (!Array.isArray(type)) return undefined
  const { description: _, default: __, ...each } = rest
  return (type as string[]).map((one) => ({ ...each, type: one }))
}

/** Merges alternatives into one schema. Alternatives of different types stay an `anyOf`. */
function union(choices: readonly JsonObject[], { description }: JsonObject): JsonObject {
  const present = choices.filter(({ type }) => type !== "null")
  const byType = Map.groupBy(present, ({ type, anyOf }) => (anyOf ? "anyOf" : String(type)))
  const parts = [...byType].flatMap(([type, same]) => (type === "anyOf" ? same : [combined(type, same)]))
  const [only, ...others] = parts
  const made = only === undefined ? { type: "null" } : others.length === 0 ? only : { anyOf: parts }
  const isNullable = present.length < choices.length && only !== undefined
  return isNullable && !String(description).includes("null") ? noted(made, "May be null.") : made
}

/** Merges alternatives of one type. */
function combined(type: string, choices: readonly JsonObject[]): JsonObject {
  const [first = {}, ...others] = choices
  if (others.length === 0) return first
  const enums = choices.map((choice) => choice["enum"] as string[] | undefined)
  if (type === "string" && enums.every((values) => values !== undefined)) return { type, enum: [...new Set(enums.flat())] }
  if (type === "array")
    return {
      type,
      items: union(
        choices.map((choice) => (choice["items"] ?? {}) as JsonObject),
        {},
      ),
    }
  if (type !== "object") return { type }
  const required = requiredOf(first).filter((name) => choices.every((choice) => requiredOf(choice).includes(name)))
  return objectOf(propertiesOf(choices), required)
}

/** Merges all parts of an `allOf` into one object. */
function merged(parts: readonly JsonObject[]): JsonObject {
  return objectOf(propertiesOf(parts), [...new Set(parts.flatMap(requiredOf))])
}

function propertiesOf(objects: readonly JsonObject[]): JsonObject {
  const all = objects.flatMap((one) => Object.entries((one["properties"] ?? {}) as Record<string, JsonObject>))
  const byName = Map.groupBy(all, ([name]) => name)
  return Object.fromEntries([...byName].map(([name, found]) => [name, alternatives(found.map(([, schema]) => schema))]))
}

function alternatives(schemas: JsonObject[]): JsonObject {
  const [first = {}] = schemas
  const different = [...new Map(schemas.map((schema) => [JSON.stringify(schema), schema])).values()]
  if (different.length === 1) return first
  const description = schemas.find((schema) => schema["description"] !== undefined)?.["description"]
  return described(union(different, {}), description === undefined ? {} : { description })
}

function requiredOf(schema: JsonObject): string[] {
  return (schema["required"] ?? []) as string[]
}

function object(schema: JsonObject, place: Place): JsonObject {
  const fields = Object.entries((schema["properties"] ?? {}) as Record<string, JsonObject>).filter(
    ([, inner]) => inner["readOnly"] !== true,
  )
  const properties = Object.fromEntries(fields.map(([name, inner]) => [name, portable(inner, place)]))
  return objectOf(
    properties,
    requiredOf(schema).filter((name) => name in properties),
  )
}

function objectOf(properties: JsonObject, required: readonly string[]): JsonObject {
  const named = Object.keys(properties).length > 0
  return { type: "object", ...(named ? { properties } : {}), ...(required.length > 0 ? { required } : {}) }
}

function list(schema: JsonObject, place: Place): JsonObject {
  const { items, prefixItems, minItems, maxItems } = schema
  const tuple = Array.isArray(prefixItems)
    ? union(
        (prefixItems as JsonObject[]).map((item) => portable(item, place)),
        {},
      )
    : undefined
  return {
    type: "array",
    items: tuple ?? portable((items ?? {}) as JsonObject, place),
    ...(minItems === undefined ? {} : { minItems }),
    ...(maxItems === undefined ? {} : { maxItems }),
  }
}

function number({ minimum, maximum, exclusiveMinimum, exclusiveMaximum }: JsonObject, type: "integer" | "number"): JsonObject {
  const step = type === "integer" ? 1 : 0
  const least = minimum ?? (exclusiveMinimum === undefined ? undefined : Number(exclusiveMinimum) + step)
  const most = maximum ?? (exclusiveMaximum === undefined ? undefined : Number(exclusiveMaximum) - step)
  // The bounds of safe integers carry no information for a model.
  const isUseful = (bound: unknown) => bound !== undefined && Math.abs(Number(bound)) < 2 ** 31 - 1
  return { type, ...(isUseful(least) ? { minimum: least } : {}), ...(isUseful(most) ? { maximum: most } : {}) }
}

function text({ format }: JsonObject): JsonObject {
  return { type: "string", ...(format === "date-time" ? { format } : {}) }
}

function constant(value: unknown): JsonObject {
  if (typeof value === "string") return { type: "string", enum: [value] }
  return { type: value === null ? "null" : typeof value, description: `Always ${JSON.stringify(value)}.` }
}

function enumeration(values: readonly unknown[]): JsonObject {
  const texts = values.filter((value) => typeof value === "string" && value !== "")
  if (texts.length === values.length) return { type: "string", enum: texts }
  const type = typeof (values.find((value) => value !== null) ?? "")
  return { type, description: `One of ${values.map((value) => JSON.stringify(value)).join(", ")}.` }
}

/** Adds notes from the full schema: the description, the default, a UUID. */
function described(made: JsonObject, { description, default: initial, format }: JsonObject): JsonObject {
  const own = typeof description === "string" ? description : undefined
  const isPlain = typeof initial === "number" || typeof initial === "boolean" || (typeof initial === "string" && initial !== "")
  const isUuid = (format === "uuid" || format === "guid") && own === undefined
  const notes = [isUuid ? "A UUID." : undefined, isPlain ? `Default: ${initial}.` : undefined]
  const before = own === undefined ? made : { ...made, description: "" }
  return [own, ...(own === undefined ? [] : [made["description"]]), ...notes].reduce<JsonObject>(
    (schema, note) => (typeof note === "string" && note !== "" ? noted(schema, note) : schema),
    before,
  )
}

/** Gemini refuses a description beside `anyOf`, so the first alternative receives it. */
function noted(schema: JsonObject, note: string): JsonObject {
  if (Array.isArray(schema["anyOf"])) {
    const { description: _, ...rest } = schema
    const [first = {}, ...others] = schema["anyOf"] as JsonObject[]
    return { ...rest, anyOf: [noted(first, note), ...others] }
  }
  const before = typeof schema["description"] === "string" && schema["description"] !== "" ? `${schema["description"]} ` : ""
  const { description: _, ...rest } = schema
  return { ...rest, description: `${before}${note}` }
}
