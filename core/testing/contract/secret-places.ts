// Where a config can hold a secret: fields that are named like one, as the log knows them, at any depth, and objects that
// take fields of any name.

import { z } from "zod"
import type { AnyAction } from "../../contract/action.ts"
import type { Json } from "../../contract/collection.ts"
import { isRecord } from "../../kernel/json.ts"
import { isSecretName } from "../../kernel/secret-names.ts"
import { childPointer } from "../../pipeline/findings.ts"
import { exampleOf } from "../../surface/openapi/example.ts"

export interface SecretPlace {
  /** Pointers of the fields named like secrets that it is of, or stands within; none in an object that takes fields of any name. */
  readonly fields: readonly string[]
  /** The text that stands there as it is. */
  readonly own: string | undefined
  /** The whole value with another text there. */
  with(text: string): Json
}

/** A shorter text may show by chance. */
export const minSecretLength = 6

/** Put into objects that take fields of any name. */
const secretFields = ["authorization", "password", "token", "api_key"]

/** The places of a value, or of one that is made up where there is none. */
export function placesOf(schema: Schema, given: Json | undefined): SecretPlace[] {
  const walk: Walk = { root: schema, around: [], pointer: "", fields: [] }
  return placesIn(schema, given, walk)
}

interface Walk {
  readonly root: Schema
  /** Schemas that this one stands within; one that holds itself is gone into once. */
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

/** Something plain that the schema takes, to stand beside what is tried. Where a rule makes it wrong, an example must show how it is done. */
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
  // What anything may stand in has been gone into by now.
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

/** A text of any wording, long enough to be told apart: no choice, no number, no address of a fixed form. */
function takesText(schema: Schema): boolean {
  if ("enum" in schema || "const" in schema) return false
  const { type, maxLength } = schema
  return takesAnything(schema) || (type === "string" && (typeof maxLength !== "number" || maxLength >= minSecretLength))
}

/** Nothing is said of it but, perhaps, what it is for. */
function takesAnything(schema: Schema): boolean {
  return Object.keys(schema).every((key) => ["description", "title", "default", "examples", "$schema"].includes(key))
}

export interface Schema {
  readonly [key: string]: unknown
}

/** An action type's config as a JSON Schema, which can be walked for any zod type. */
export function configSchemaOf({ config }: AnyAction): Schema {
  return z.toJSONSchema(config, { io: "input", unrepresentable: "any" }) as Schema
}

/** What a `$ref` stands for. */
export function definitionOf(root: Schema, reference: string): unknown {
  return reference === "#" ? root : (root["$defs"] as Schema | undefined)?.[reference.replace("#/$defs/", "")]
}

/** The schemas that a value may, or must, satisfy beside this one. */
export function alternativesOf(schema: Schema): readonly unknown[] {
  return ["anyOf", "oneOf", "allOf"].flatMap((key) => (Array.isArray(schema[key]) ? (schema[key] as unknown[]) : []))
}
