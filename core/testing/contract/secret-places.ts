// Finds places for secrets in a config: fields with secret names, as the log redacts them, at any depth, and objects with free
// field names.

import { z } from "zod"
import type { AnyAction } from "../../contract/action.ts"
import type { Json } from "../../contract/collection.ts"
import { isRecord } from "../../kernel/json.ts"
import { isSecretName } from "../../kernel/secret-names.ts"
import { childPointer } from "../../pipeline/findings.ts"
import { exampleOf } from "../../surface/openapi/example.ts"

export interface SecretPlace {
  /** Pointers of the secret fields at or above this place. Empty in an object with free field names. */
  readonly fields: readonly string[]
  /** The original text at this place. */
  readonly own: string | undefined
  /** Returns the full value with another text at this place. */
  with(text: string): Json
}

/** A shorter text may occur by chance. */
export const minSecretLength = 6

/** Inserted into objects with free field names. */
const secretFields = ["authorization", "password", "token", "api_key"]

/** Returns the places of a value. Without a value, uses an invented one. */
export function placesOf(schema: Schema, given: Json | undefined): SecretPlace[] {
  const walk: Walk = { root: schema, around: [], pointer: "", fields: [] }
  return placesIn(schema, given, walk)
}

interface Walk {
  readonly root: Schema
  /** Enclosing schemas. A recursive schema is entered once. */
  readonly around: readonly Schema[]
  readonly pointer: string
  readonly fields: readonly string[]
}

function placesIn(schema: unknown, given: Json | undefined, walk: Walk): SecretPlace[] {
  if (!isRecord(schema) || walk.around.includes(schema)) return []
  const { root, fields } = walk
  const inside = { ...walk, around: [...walk.around, schema] }
  const { $ref } = schema
  if (typeof $ref === "string") return placesIn(definitionOf(root, $ref), given, inside)
  const here = fields.length > 0 && takesText(schema) ? [{ fields, own: typeof given === "string" ? given : undefined, with: asItIs }] : []
  const alternatives = alternativesOf(schema).flatMap((one) => placesIn(one, given, inside))
  return [...here, ...alternatives, ...inFields(schema, given, inside), ...inElements(schema, given, inside)]
}

/** Returns a simple valid value beside the tried place. If a rule refuses it, an example must show a valid value. */
function plainValue(schema: unknown, root: Schema): Json {
  const resolve = (reference: string) => definitionOf(root, reference) as Schema | undefined
  return isRecord(schema) ? ((exampleOf(schema, "input", resolve) ?? null) as Json) : null
}

const asItIs = (text: string): Json => text

function inFields(schema: Schema, given: Json | undefined, walk: Walk): SecretPlace[] {
  const { properties, additionalProperties } = schema
  if (schema["type"] !== "object" && !takesAnything(schema)) return []
  const around = isRecord(given) ? given : (plainValue(schema, walk.root) as Record<string, Json>)
  const below = (name: string, inner: unknown, fields: readonly string[], pointer: string) =>
    placesIn(inner, isRecord(given) ? given[name] : undefined, { ...walk, fields, pointer }).map((place) => ({
      ...place,
      with: (text: string) => ({ ...around, [name]: place.with(text) }),
    }))
  const named = Object.entries((properties ?? {}) as Schema).flatMap(([name, inner]) => {
    const pointer = childPointer(walk.pointer, name)
    return below(name, inner, isSecretName(name) ? [...walk.fields, pointer] : walk.fields, pointer)
  })
  const others = takesAnything(schema) ? {} : additionalProperties
  if (!isRecord(others)) return named
  const anyName = childPointer(walk.pointer, "*")
  const invented = takesText(others)
    ? secretFields.map((name) => ({ fields: walk.fields, own: undefined, with: (text: string) => ({ ...around, [name]: text }) }))
    : []
  const names = isRecord(given) && Object.keys(given).length > 0 ? Object.keys(given) : ["one"]
  // Schemas for any value were already visited.
  const known = takesAnything(others) ? [] : names.flatMap((name) => below(name, others, walk.fields, anyName))
  return [...named, ...invented, ...known]
}

function inElements({ prefixItems, items }: Schema, given: Json | undefined, walk: Walk): SecretPlace[] {
  const first = (prefixItems ?? []) as readonly unknown[]
  const around = Array.isArray(given) ? given : first.map((inner) => plainValue(inner, walk.root))
  const rest = isRecord(items) ? Math.max(1, around.length - first.length) : 0
  return [...first, ...Array<unknown>(rest).fill(items)].flatMap((inner, index) =>
    placesIn(inner, Array.isArray(given) ? given[index] : undefined, { ...walk, pointer: childPointer(walk.pointer, "*") }).map(
      (place) => ({
        ...place,
        with: (text: string) => around.toSpliced(index, 1, place.with(text)),
      }),
    ),
  )
}

/** Returns true for a free text of sufficient length: no choice, no number, no fixed format. */
function takesText(schema: Schema): boolean {
  if ("enum" in schema || "const" in schema) return false
  const { type, maxLength } = schema
  return takesAnything(schema) || (type === "string" && (typeof maxLength !== "number" || maxLength >= minSecretLength))
}

/** Returns true for a schema without constraints. */
function takesAnything(schema: Schema): boolean {
  return Object.keys(schema).every((key) => ["description", "title", "default", "examples", "$schema"].includes(key))
}

export interface Schema {
  readonly [key: string]: unknown
}

/** The config of an action type as a JSON Schema, for traversal of any zod type. */
export function configSchemaOf({ config }: AnyAction): Schema {
  return z.toJSONSchema(config, { io: "input", unrepresentable: "any" }) as Schema
}

/** Resolves a `$ref`. */
export function definitionOf(root: Schema, reference: string): unknown {
  return reference === "#" ? root : (root["$defs"] as Schema | undefined)?.[reference.replace("#/$defs/", "")]
}

/** Returns the alternative or additional schemas of a value. */
export function alternativesOf(schema: Schema): readonly unknown[] {
  return ["anyOf", "oneOf", "allOf"].flatMap((key) => (Array.isArray(schema[key]) ? (schema[key] as unknown[]) : []))
}
