// Converts zod schemas to JSON Schema (2020-12) for the wire. Uses zod's conversion, simplifies the recursive spelling of "any
// JSON value", and leaves outputs open for future fields.
import { z } from "zod"

export type JsonObject = { [key: string]: unknown }

const known = { input: new WeakMap<z.ZodType, JsonObject>(), output: new WeakMap<z.ZodType, JsonObject>() }

/**
 * Built once for each schema; do not change the result. The root is the schema itself, never a reference. Shared and recursive
 * parts are under `$defs`.
 */
export function wireSchema(schema: z.ZodType, io: "input" | "output"): JsonObject {
  let wire = known[io].get(schema)
  if (!wire) {
    wire = converted(schema, io)
    known[io].set(schema, wire)
  }
  return wire
}

function converted(schema: z.ZodType, io: "input" | "output"): JsonObject {
  const made = z.toJSONSchema(schema, {
    io,
    target: "draft-2020-12",
    unrepresentable: "any",
    override: ({ jsonSchema }) => {
      if (io === "output" && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties
    },
  }) as JsonObject
  const { $schema: _dialect, $defs: definitions = {}, ...body } = made
  const all = definitions as Record<string, JsonObject>
  const any = new Set(Object.keys(all).filter((name) => isAnyJson(name, all[name])))
  const kept = Object.entries(all).filter(([name]) => !any.has(name))
  const $defs = Object.fromEntries(kept.map(([name, definition]) => [name, folded(definition, any)]))
  const root = rootOf(folded(body, any) as JsonObject, $defs)
  const text = JSON.stringify([root, $defs])
  const used = Object.entries($defs).filter(([name]) => text.includes(`"#/$defs/${name}"`))
  return used.length > 0 ? { ...root, $defs: Object.fromEntries(used) } : root
}

function rootOf(body: JsonObject, definitions: JsonObject): JsonObject {
  const { $ref: reference, ...beside } = body
  const name = typeof reference === "string" ? /^#\/\$defs\/(.+)$/.exec(reference)?.[1] : undefined
  const target = name === undefined ? undefined : definitions[name]
  return target ? { ...(target as JsonObject), ...beside } : body
}

/** Returns true for zod's conversion of `z.json()`: text, number, boolean, null, a list or an object of itself. */
function isAnyJson(name: string, definition: JsonObject | undefined): boolean {
  const parts = definition?.["anyOf"]
  if (!Array.isArray(parts) || parts.length !== 6) return false
  const own = `#/$defs/${name}`
  const [, , , , list, object] = parts as { items?: JsonObject; additionalProperties?: JsonObject }[]
  return list?.items?.["$ref"] === own && object?.additionalProperties?.["$ref"] === own
}

/** Replaces references to any JSON value with the empty schema. Both have the same meaning. */
function folded(value: unknown, any: ReadonlySet<string>): unknown {
  if (Array.isArray(value)) return value.map((item) => folded(item, any))
  if (typeof value !== "object" || value === null) return value
  const entries = Object.entries(value).filter(([key, inner]) => !(key === "$ref" && typeof inner === "string" && any.has(inner.slice(8))))
  return Object.fromEntries(entries.map(([key, inner]) => [key, folded(inner, any)]))
}
