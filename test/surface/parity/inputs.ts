// Draws inputs for an operation from its JSON Schema: valid inputs, inputs near an example, and valid inputs with faults.
import fc from "fast-check"
import type { JsonObject } from "../../../core/surface/wire-schema.ts"
import { endless, type Input } from "./surfaces.ts"

/** Like fast-check's unit "binary", but without its table of all code points. */
const codePoint = fc
  .integer({ min: 0, max: 0x10_ffff })
  .filter((point) => point < 0xd800 || point > 0xdfff)
  .map((point) => String.fromCodePoint(point))

const hostile = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    -1,
    0,
    1.5,
    2 ** 31,
    -(2 ** 31) - 1,
    Number.MAX_SAFE_INTEGER,
    Number.MAX_SAFE_INTEGER + 1,
    2 ** 63,
    1e308,
    -1e308,
    5e-324,
    endless,
    "",
    " ",
    "\u0000",
    "\ud800",
    "__proto__",
    "../../etc/passwd",
    "' OR 1=1 --",
    "$where",
    "a.b",
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
  fc.string({ unit: codePoint }),
  fc.jsonValue({ maxDepth: 3 }),
)

/** Slugs and ids for reference fields, so some inputs refer to existing documents. */
export interface ExistingIds {
  readonly slugs: readonly string[]
  readonly ids: readonly string[]
}

/** Draws valid inputs by the schema. */
export function drawnInputs(schema: JsonObject, ids: ExistingIds): fc.Arbitrary<Input> {
  return objectOf(schema, { known: ids, definitions: definitionsOf(schema), depth: 0 })
}

/** Draws valid inputs with one to three fields wrong, omitted or added. */
export function brokenInputs(right: fc.Arbitrary<Input>, schema: JsonObject): fc.Arbitrary<Input> {
  const names = Object.keys((schema["properties"] ?? {}) as JsonObject)
  const name = fc.constantFrom("unknown_field", "__proto__", "constructor", "ＩＤ", ...names)
  return fc
    .tuple(right, fc.array(fc.tuple(name, fc.oneof(hostile, fc.constant(undefined))), { minLength: 1, maxLength: 3 }))
    .map(([input, faults]) => {
      const changed: Input = { ...input }
      for (const [field, value] of faults)
        Object.defineProperty(changed, field, { value, enumerable: value !== undefined, configurable: true, writable: true })
      return changed
    })
}

/** Draws inputs near a valid one: fields omitted, varied, and added. Fields selected by `keeps` stay unchanged. */
export function nearInputs(schema: JsonObject, example: Input, keeps: (field: string) => boolean): fc.Arbitrary<Input> {
  const properties = (schema["properties"] ?? {}) as Record<string, JsonObject>
  const required = new Set((schema["required"] ?? []) as string[])
  const place = { known: { slugs: [], ids: [] }, definitions: definitionsOf(schema), depth: 1 }
  const varied = Object.entries(example).map(([name, value]) => {
    if (keeps(name)) return fc.constant([[name, value]] as const)
    const same = fc.constant([[name, value]] as const)
    const other = variantsOf(properties[name] ?? {}, value, { ...place, name }).map((changed) => [[name, changed]] as const)
    return required.has(name)
      ? fc.oneof({ weight: 2, arbitrary: same }, { weight: 1, arbitrary: other })
      : fc.oneof({ weight: 4, arbitrary: same }, { weight: 2, arbitrary: other }, { weight: 1, arbitrary: fc.constant([]) })
  })
  const added = Object.entries(properties)
    .filter(([name]) => !(name in example) && !keeps(name))
    .map(([name, inner]) => {
      const drawnFields = drawnFrom(inner, { ...place, name }).map((value) => [[name, value]] as const)
      return fc.oneof({ weight: 5, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: drawnFields })
    })
  return fc.tuple(...varied, ...added).map((parts) => Object.fromEntries(parts.flat()))
}

/** Draws values of the same kind. */
function variantsOf(schema: JsonObject, value: unknown, place: Place): fc.Arbitrary<unknown> {
  const fixed = schema["pattern"] !== undefined || schema["format"] !== undefined || schema["enum"] !== undefined
  if (typeof value === "string" && schema["type"] === "string" && !fixed) return textUpTo(20).map((text) => `${value}${text}`)
  if (typeof value === "boolean" || fixed || schema["type"] === "integer") return drawnFrom(schema, place)
  if (Array.isArray(value) && value.length > 0) return fc.subarray(value, { minLength: Math.max(1, Number(schema["minItems"] ?? 0)) })
  return fc.constant(value)
}

function definitionsOf(schema: JsonObject): Record<string, JsonObject> {
  return (schema["$defs"] ?? {}) as Record<string, JsonObject>
}

interface Place {
  readonly known: ExistingIds
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
  return fc.dictionary(matching("^[a-z_]{1,12}$"), drawnFrom(extra as JsonObject, { ...place, depth: place.depth + 1 }), {
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
  if (choice) return fc.oneof(...choice.map((schemaChoice) => drawnFrom(schemaChoice, { ...place, depth: place.depth + 1 })))
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
      if (!Number.isInteger(schema["maximum"] ?? 0) || !Number.isInteger(schema["minimum"] ?? 0)) {
        return fc.double({ min: Number(schema["minimum"]), max: Number(schema["maximum"]), noNaN: true })
      }
      return fc.integer({ min: Math.max(Number(schema["minimum"] ?? -5), -1e9), max: Math.min(Number(schema["maximum"] ?? 500), 1e9) })
    case "boolean":
      return fc.boolean()
    case "null":
      return fc.constant(null)
    default:
      return once("json", () => fc.jsonValue({ maxDepth: 2 }))
  }
}

/** Cached: creating arbitraries of texts takes longer than drawing from them. */
const byKey = new Map<string, fc.Arbitrary<unknown>>()

/** Each key has one type. */
function once<T>(key: string, make: () => fc.Arbitrary<T>): fc.Arbitrary<T> {
  const drawn = byKey.get(key) ?? make()
  byKey.set(key, drawn)
  return drawn as fc.Arbitrary<T>
}

function textUpTo(maxLength: number, minLength = 0): fc.Arbitrary<string> {
  return once(`${minLength} ${maxLength}`, () => fc.string({ minLength, maxLength }))
}

/** fast-check's own arbitrary would first make a table of all code points. */
const url = /^https?:\/\/([a-z][a-z0-9-]{0,8}\.){1,3}(com|org|example)(:[1-9]\d{1,3})?(\/[\w.~%!$&*+,;=:@-]{0,12}){0,3}(\?[\w=&+-]{0,12})?$/
  .source

/** Lookarounds are removed for drawing; drawn texts are then filtered by the whole pattern. */
function matching(pattern: string): fc.Arbitrary<string> {
  const plain = pattern.replaceAll(/\(\?<?[=!][^()]*\)/g, "")
  return once(pattern, () => {
    const texts = fc.stringMatching(new RegExp(plain))
    return plain === pattern ? texts : texts.filter((text) => new RegExp(pattern).test(text))
  })
}

function textOf(schema: JsonObject, { known, name = "" }: Place): fc.Arbitrary<unknown> {
  const { format, pattern, minLength, maxLength } = schema
  const plain = textUpTo(Math.min(Number(maxLength ?? 40), 40), Number(minLength ?? 0))
  const names = /(?:^|_)slug$/.test(name) ? known.slugs : /^(?:id|actor)$/.test(name) ? known.ids : []
  if (names.length > 0) return fc.oneof({ weight: 6, arbitrary: fc.constantFrom(...names) }, { weight: 1, arbitrary: plain })
  if (/^(?:cursor|filter|sort)$/.test(name)) return fc.oneof({ weight: 4, arbitrary: fc.constant("") }, { weight: 1, arbitrary: plain })
  if (format === "uuid") return once("uuid", () => fc.uuid())
  if (format === "date-time")
    return fc.date({ noInvalidDate: true, min: new Date(0), max: new Date(4e12) }).map((date) => date.toISOString())
  if (format === "email") return fc.constant("ada@example.com")
  if (format === "uri") return matching(url)
  if (typeof pattern === "string") return fc.oneof(matching(pattern), fc.constantFrom("website-leads", "datasets:read"))
  return fc.oneof(plain, fc.constantFrom("Ada", "website leads"))
}
