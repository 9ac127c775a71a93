// Reads a request schema's rules for a path in an event. The schema is not executed: patterns are ignored, and the number of
// followed references is bounded.
import { isRecord, type Json } from "#core"
import { childPointer } from "#core/engine"
import { type JsonType, jsonTypes, nameOf, parentOf } from "./sketch.ts"

type SchemaObject = { readonly [key: string]: Json }

interface Located {
  /** JSON Pointer in the schema. */
  readonly pointer: string
  readonly schema: SchemaObject
}

export interface Place {
  /** `refused`: the schema forbids this name. `open`: the schema has no rule for the name. */
  readonly state: "declared" | "refused" | "open"
  /** Allowed types. null: any type. */
  readonly types: ReadonlySet<JsonType> | null
  readonly values: readonly Json[] | null
  readonly required: boolean
  /** The only schema of the path. Undefined if there are several or zero. */
  readonly schema: Located | undefined
  /** The only schema of the containing object or array. */
  readonly parent: Located | undefined
}

interface Pending {
  readonly pointer: string
  readonly schema: Json
}

/** Bound on the schemas for one path. */
const maxSchemas = 50

export class SchemaPlaces {
  readonly #root: Json
  readonly #known = new Map<string, readonly Located[]>()

  /** An absent schema and `true` have no rules. */
  constructor(schema: Json) {
    this.#root = schema
  }

  of(path: string): Place {
    const own = this.#at(path)
    const types = typesOf(own)
    const values = own.flatMap(({ schema }) =>
      Array.isArray(schema["enum"]) ? schema["enum"] : "const" in schema ? [schema["const"] ?? null] : [],
    )
    const parents = path === "" ? [] : this.#at(parentOf(path))
    return {
      state: own.length > 0 ? "declared" : parents.some(({ schema }) => isClosed(schema)) ? "refused" : "open",
      types,
      values: values.length > 0 ? values : null,
      required: parents.some(({ schema }) => requiredOf(schema).includes(nameOf(path))),
      schema: only(own),
      parent: only(parents),
    }
  }

  /** Returns the required names of the object at a path. */
  requiredAt(path: string): string[] {
    return [...new Set(this.#at(path).flatMap(({ schema }) => requiredOf(schema)))]
  }

  #at(path: string): readonly Located[] {
    const known = this.#known.get(path)
    if (known) return known
    const found = path === "" ? this.#expanded({ pointer: "", schema: this.#root }) : this.#childrenOf(path)
    this.#known.set(path, found)
    return found
  }

  #childrenOf(path: string): Located[] {
    const name = nameOf(path)
    const isItem = path.endsWith("/*")
    const found = this.#at(parentOf(path)).flatMap(({ pointer, schema }) => {
      if (isItem) return this.#expanded({ pointer: `${pointer}/items`, schema: schema["items"] ?? null })
      const declared = objectOf(schema["properties"])
      if (path.endsWith("/?") || !declared || !Object.hasOwn(declared, name)) {
        const rest = schema["additionalProperties"]
        return objectOf(rest) ? this.#expanded({ pointer: `${pointer}/additionalProperties`, schema: rest ?? null }) : []
      }
      return this.#expanded({ pointer: childPointer(`${pointer}/properties`, name), schema: declared[name] ?? null })
    })
    return [...new Map(found.map((one) => [one.pointer, one])).values()].slice(0, maxSchemas)
  }

  /** Returns the schema and the schemas combined with it, without duplicates. Their references may form cycles. */
  #expanded(first: Pending): Located[] {
    const found: Located[] = []
    const known = new Set<string>()
    const waiting = [first]
    for (let next = waiting.shift(); next && known.size < maxSchemas; next = waiting.shift()) {
      const { pointer, schema } = next
      if (known.has(pointer)) continue
      known.add(pointer)
      const own = schema === true ? {} : objectOf(schema)
      if (!own) continue
      found.push({ pointer, schema: own })
      const reference = own["$ref"]
      if (typeof reference === "string" && /^#(\/|$)/.test(reference))
        waiting.push({ pointer: reference.slice(1), schema: valueAt(this.#root, reference.slice(1)) })
      for (const key of ["allOf", "anyOf", "oneOf"]) {
        const list = own[key]
        if (Array.isArray(list))
          for (const [at, one] of list.slice(0, maxSchemas).entries()) waiting.push({ pointer: `${pointer}/${key}/${at}`, schema: one })
      }
    }
    return found
  }
}

export function valueAt(root: Json, pointer: string): Json {
  let value: Json = root
  for (const part of pointer === "" ? [] : pointer.slice(1).split("/")) {
    const name = part.replaceAll("~1", "/").replaceAll("~0", "~")
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return null
    value = (value as Record<string, Json>)[name] ?? null
  }
  return value
}

/** An `integer` is also a `number`. */
export function allows(types: ReadonlySet<JsonType> | null, type: JsonType): boolean {
  return types === null || types.has(type) || (type === "integer" && types.has("number"))
}

export function requiredOf(schema: SchemaObject): string[] {
  const required = schema["required"]
  return Array.isArray(required) ? required.filter((name) => typeof name === "string") : []
}

function typesOf(located: readonly Located[]): ReadonlySet<JsonType> | null {
  const named = located.flatMap(({ schema: { type } }) => (Array.isArray(type) ? type : type === undefined ? [] : [type]))
  const known = jsonTypes.filter((type) => named.includes(type))
  return known.length > 0 ? new Set(known) : null
}

/** Returns false if the schema has name patterns: a matching name may be allowed. */
function isClosed(schema: SchemaObject): boolean {
  return (schema["additionalProperties"] === false || schema["unevaluatedProperties"] === false) && !schema["patternProperties"]
}

function only(located: readonly Located[]): Located | undefined {
  return located.length === 1 ? located[0] : undefined
}

function objectOf(value: Json | undefined): SchemaObject | undefined {
  return isRecord(value) ? value : undefined
}
