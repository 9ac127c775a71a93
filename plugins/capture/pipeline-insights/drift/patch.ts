// Changes a request schema to fit current events: JSON Patch (RFC 6902) on the document.
import type { Json } from "#core"
import { childPointer } from "#core/engine"
import type { DriftKind } from "./findings.ts"
import { type Place, requiredOf, valueAt } from "./schema-places.ts"
import { type JsonType, jsonTypes, nameOf } from "./sketch.ts"

export interface Operation {
  readonly op: "add" | "replace"
  readonly path: string
  readonly value: Json
}

interface PatchArgs {
  readonly kind: DriftKind
  readonly path: string
  readonly types: readonly JsonType[]
  readonly place: Place
  readonly schema: Json
  readonly explains: boolean
}

const at = (pointer: string) => `/request_schema${pointer}`

/** Returns an empty list if the schema allows the difference already, or if several parts of the schema refuse it. */
export function patchOf({ kind, path, types, place, schema, explains }: PatchArgs): Operation[] {
  if (typeof schema !== "object" || schema === null) return []
  const { parent, schema: own } = place
  if (kind === "new_field" && parent && !/\/[*?]$/.test(path)) {
    const properties = `${parent.pointer}/properties`
    const value = { type: typeValue(types) }
    if (valueAt(schema, properties) === null) return [{ op: "add", path: at(properties), value: { [nameOf(path)]: value } }]
    return [{ op: "add", path: at(childPointer(properties, nameOf(path))), value }]
  }
  if (kind === "type_changed" && explains && own) {
    const stated = own.schema["type"]
    const before = (Array.isArray(stated) ? stated : [stated]).filter((one) => jsonTypes.includes(one as JsonType)) as JsonType[]
    return before.length === 0 ? [] : [{ op: "replace", path: at(`${own.pointer}/type`), value: typeValue([...before, ...types]) }]
  }
  if (kind === "field_gone" && parent && requiredOf(parent.schema).includes(nameOf(path))) {
    const required = requiredOf(parent.schema).filter((name) => name !== nameOf(path))
    return [{ op: "replace", path: at(`${parent.pointer}/required`), value: required }]
  }
  return []
}

/** Applies the operations in order to a copy. Paths come from `patchOf`, so they exist in the document. */
export function patched<T extends Json>(document: T, operations: readonly Operation[]): T {
  const copy = structuredClone(document)
  for (const { path, value } of operations) {
    const cut = path.lastIndexOf("/")
    const holder = valueAt(copy, path.slice(0, cut))
    if (typeof holder !== "object" || holder === null || Array.isArray(holder)) continue
    Object.defineProperty(holder, nameOf(path), { value: structuredClone(value), enumerable: true, writable: true, configurable: true })
  }
  return copy
}

function typeValue(types: readonly JsonType[]): Json {
  const all = new Set(types)
  if (all.has("number")) all.delete("integer")
  const listed = jsonTypes.filter((type) => all.has(type))
  return listed.length === 1 ? (listed[0] ?? null) : listed
}
