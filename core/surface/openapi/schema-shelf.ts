// The named schemas of an OpenAPI document. Shared parts under `$defs` of a schema move to the document, for references from
// every schema.
import { isDeepStrictEqual } from "node:util"
import type { z } from "zod"
import { type JsonObject, wireSchema } from "../wire-schema.ts"

const prefix = "#/components/schemas/"

export class SchemaShelf {
  readonly schemas: Record<string, JsonObject> = {}

  /** Stores the schema under this name. */
  add(name: string, schema: z.ZodType, io: "input" | "output"): void {
    this.put(name, this.make(name, schema, io))
  }

  put(name: string, schema: JsonObject): void {
    this.schemas[name] = schema
  }

  /** Returns the JSON Schema and stores its definitions in the document. Conflicting definitions are named after `owner`. */
  make(owner: string, schema: z.ZodType, io: "input" | "output"): JsonObject {
    const { $defs: definitions = {}, ...body } = wireSchema(schema, io)
    const all = Object.entries(definitions as Record<string, JsonObject>)
    const names = new Map(all.map(([key, definition]) => [`#/$defs/${key}`, this.#nameFor(owner, key, definition)]))
    for (const [key, definition] of all) {
      const name = names.get(`#/$defs/${key}`)
      if (name) this.schemas[name] = rewritten(definition, names) as JsonObject
    }
    names.set("#", owner)
    return rewritten(body, names) as JsonObject
  }

  #nameFor(owner: string, key: string, definition: unknown): string {
    if (key.startsWith("__")) return `${owner}${key.replace(/\W|_/g, "")}`
    const taken = this.schemas[key]
    return taken === undefined || isDeepStrictEqual(taken, definition) ? key : `${owner}${key}`
  }
}

/** Client generators leave out operations if a union has an object as default. The description states the default instead. */
function withoutUnionDefault(schema: JsonObject): JsonObject {
  const { default: initial, ...rest } = schema
  const isUnion = Array.isArray(schema["oneOf"]) || Array.isArray(schema["anyOf"])
  if (!isUnion || typeof initial !== "object" || initial === null) return schema
  const { description } = schema
  const stated = `Default: \`${JSON.stringify(initial)}\`.`
  return { ...rest, description: typeof description === "string" ? `${description} ${stated}` : stated }
}

function rewritten(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((item) => rewritten(item, names))
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(withoutUnionDefault(value as JsonObject)).map(([key, inner]) => {
      const name = key === "$ref" && typeof inner === "string" ? names.get(inner) : undefined
      return [key, name === undefined ? rewritten(inner, names) : prefix + name]
    }),
  )
}
