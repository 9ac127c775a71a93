// The JSON Schema (2020-12) of what goes over the wire, out of a zod schema: zod's own, with the recursive spelling of
// "any JSON value" folded, and answers left open for fields to come.
import { z } from "zod"

export type JsonObject = { [key: string]: unknown }

const known = { input: new WeakMap<z.ZodType, JsonObject>(), output: new WeakMap<z.ZodType, JsonObject>() }

/** Made once of each schema, and not to be changed. The root is the schema itself, never a reference; shared and recursive parts stand under `$defs`. */
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

/** Whether this is what zod makes of `z.json()`: text, number, boolean, null, a list or an object of itself. */
function isAnyJson(name: string, definition: JsonObject | undefined): boolean {
  const parts = definition?.["anyOf"]
  if (!Array.isArray(parts) || parts.length !== 6) return false
  const own = `#/$defs/${name}`
  const [, , , , list, object] = parts as { items?: JsonObject; additionalProperties?: JsonObject }[]
  return list?.items?.["$ref"] === own && object?.additionalProperties?.["$ref"] === own
}

/** References to any JSON value become the empty schema, which says the same. */
function folded(value: unknown, any: ReadonlySet<string>): unknown {
  if (Array.isArray(value)) return value.map((item) => folded(item, any))
  if (typeof value !== "object" || value === null) return value
  const entries = Object.entries(value).filter(([key, inner]) => !(key === "$ref" && typeof inner === "string" && any.has(inner.slice(8))))
  return Object.fromEntries(entries.map(([key, inner]) => [key, folded(inner, any)]))
}
