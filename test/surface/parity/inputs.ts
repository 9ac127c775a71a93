// Inputs for an operation, drawn from its own JSON Schema: right ones, and right ones with something broken in them.
import fc from "fast-check"
import type { JsonObject } from "../../../core/surface/wire-schema.ts"

export type Input = Record<string, unknown>

const hostile = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    -1,
    0,
    1.5,
    Number.MAX_SAFE_INTEGER,
    1e308,
    -1e308,
    "",
    " ",
    "\u0000",
    "\ud800",
    "__proto__",
    "../../etc/passwd",
    "' OR 1=1 --",
    "{{ event }}",
    "#{7*7}",
    "x".repeat(5_000),
    "𝒳👩‍👩‍👧‍👦\u202e\u0301",
    [],
    {},
    [[[[]]]],
    { $where: "1" },
    { __proto__: { admin: true }, constructor: { prototype: {} } },
    "9".repeat(400),
    "2026-13-45T99:99:99Z",
  ),
  fc.string({ unit: "binary" }),
  fc.jsonValue({ maxDepth: 3 }),
)

/** Values for fields that name something, so that some inputs name what is there. */
export interface Known {
  readonly slugs: readonly string[]
  readonly ids: readonly string[]
}

export function inputsOf(schema: JsonObject, known: Known): fc.Arbitrary<Input> {
  const right = objectOf(schema, { known, definitions: (schema["$defs"] ?? {}) as Record<string, JsonObject>, depth: 0 })
  const names = Object.keys((schema["properties"] ?? {}) as JsonObject)
  const name = fc.constantFrom("unknown_field", "__proto__", "constructor", "ＩＤ", ...names)
  const broken = fc
    .tuple(right, fc.array(fc.tuple(name, fc.oneof(hostile, fc.constant(undefined))), { minLength: 1, maxLength: 3 }))
    .map(([input, faults]) => {
      const changed: Input = { ...input }
      for (const [field, value] of faults)
        Object.defineProperty(changed, field, { value, enumerable: value !== undefined, configurable: true, writable: true })
      return changed
    })
  return fc.oneof({ weight: 2, arbitrary: right }, { weight: 3, arbitrary: broken })
}

interface Place {
  readonly known: Known
  readonly definitions: Record<string, JsonObject>
  readonly depth: number
  readonly name?: string
}

function objectOf(schema: JsonObject, place: Place): fc.Arbitrary<Input> {
  const properties = Object.entries((schema["properties"] ?? {}) as Record<string, JsonObject>)
  const required = (schema["required"] ?? []) as string[]
  const model = Object.fromEntries(properties.map(([name, inner]) => [name, drawnFrom(inner, { ...place, name, depth: place.depth + 1 })]))
  const fields = fc.record(model, { requiredKeys: required })
  const extra = schema["additionalProperties"]
  if (properties.length > 0 || typeof extra !== "object" || extra === null) return fields
  return fc.dictionary(fc.stringMatching(/^[a-z_]{1,12}$/), drawnFrom(extra as JsonObject, { ...place, depth: place.depth + 1 }), {
    maxKeys: 4,
  })
}

function drawnFrom(schema: JsonObject, place: Place): fc.Arbitrary<unknown> {
  if (schema["const"] !== undefined) return fc.constant(schema["const"])
  if (Array.isArray(schema["enum"])) return fc.constantFrom(...(schema["enum"] as unknown[]))
  if (place.depth > 6) return fc.constant(null)
  if (typeof schema["$ref"] === "string")
    return drawnFrom(place.definitions[schema["$ref"].slice("#/$defs/".length)] ?? {}, { ...place, depth: place.depth + 1 })
  const choice = (schema["anyOf"] ?? schema["oneOf"]) as JsonObject[] | undefined
  if (choice) return fc.oneof(...choice.map((one) => drawnFrom(one, { ...place, depth: place.depth + 1 })))
  switch (schema["type"]) {
    case "object":
      return objectOf(schema, place)
    case "array":
      return fc.array(drawnFrom((schema["items"] ?? {}) as JsonObject, { ...place, depth: place.depth + 1 }), {
        minLength: Number(schema["minItems"] ?? 0),
        maxLength: Math.min(Number(schema["maxItems"] ?? 3), 3),
      })
    case "string":
      return textOf(schema, place)
    case "integer":
    case "number":
      return fc.integer({ min: Math.max(Number(schema["minimum"] ?? -5), -1e9), max: Math.min(Number(schema["maximum"] ?? 500), 1e9) })
    case "boolean":
      return fc.boolean()
    case "null":
      return fc.constant(null)
    default:
      return fc.jsonValue({ maxDepth: 2 })
  }
}

function textOf(schema: JsonObject, { known, name = "" }: Place): fc.Arbitrary<unknown> {
  const { format, pattern, minLength, maxLength } = schema
  const plain = fc.string({ minLength: Number(minLength ?? 0), maxLength: Math.min(Number(maxLength ?? 40), 40) })
  const named = /(?:^|_)slug$/.test(name) ? known.slugs : /^(?:id|actor)$/.test(name) ? known.ids : []
  if (named.length > 0) return fc.oneof({ weight: 6, arbitrary: fc.constantFrom(...named) }, { weight: 1, arbitrary: plain })
  if (/^(?:cursor|filter|sort)$/.test(name)) return fc.oneof({ weight: 4, arbitrary: fc.constant("") }, { weight: 1, arbitrary: plain })
  if (format === "uuid") return fc.uuid()
  if (format === "date-time")
    return fc.date({ noInvalidDate: true, min: new Date(0), max: new Date(4e12) }).map((date) => date.toISOString())
  if (format === "email") return fc.constant("ada@example.com")
  if (format === "uri") return fc.webUrl()
  if (typeof pattern === "string")
    return fc.oneof(fc.stringMatching(new RegExp(pattern)), fc.constantFrom("website-leads", "datasets:read"))
  return fc.oneof(plain, fc.constantFrom("Ada", "website leads"))
}
