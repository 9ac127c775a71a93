// Converts documents to BSON and back. Declared time fields become dates, and all other values stay unchanged. Values that
// MongoDB would change (lone surrogates, NaN, times without milliseconds) are refused with their field.
import type { CollectionSpec, Document } from "../../contract/collection.ts"
import { AppError } from "../../kernel/errors.ts"
import { isReservedField, protectPlain, restorePlain } from "./plain.ts"

export type Bson = Record<string, unknown>

/** Maximum nesting. The server's own limit is 200. */
const maxDepth = 150

/** The declared time paths of a collection, as a tree by path segment. Lists are transparent. */
export interface TimeTree {
  isTime: boolean
  readonly under: Map<string, TimeTree>
}

const trees = new WeakMap<CollectionSpec, TimeTree>()

export function timesOf(spec: CollectionSpec): TimeTree {
  let tree = trees.get(spec)
  if (tree) return tree
  tree = { isTime: false, under: new Map() }
  for (const path of spec.expires ? [...spec.times, spec.expires] : spec.times) {
    let node = tree
    for (const segment of path.split(".")) {
      const next: TimeTree = node.under.get(segment) ?? { isTime: false, under: new Map() }
      node.under.set(segment, next)
      node = next
    }
    node.isTime = true
  }
  trees.set(spec, tree)
  return tree
}

/** Returns the node at a dotted path. Positions in lists (`attempts.0.at`) are ignored. */
export function timesAt(tree: TimeTree | undefined, path: string): TimeTree | undefined {
  let node = tree
  for (const segment of path.split(".")) {
    if (!node) return undefined
    node = node.under.get(segment) ?? (/^\d+$/.test(segment) ? node : undefined)
  }
  return node
}

/** Encodes JSON for MongoDB, and sums an upper bound of its bytes. */
export class Encoder {
  readonly collection: string
  size = 64
  #hasReservedField = false

  constructor(collection: string) {
    this.collection = collection
  }

  /** Returns a statement of encoded values, ready for the BSON library. */
  ready<T>(statement: T): T {
    return this.#hasReservedField ? protectPlain(statement) : statement
  }

  document(spec: CollectionSpec, organization: string | undefined, doc: Document): Bson {
    if (typeof doc.id !== "string" || doc.id === "") throw this.#refuse("id", doc.id, "must be a string that is not empty")
    const { id, organization_id: given, ...fields } = doc
    if (given !== undefined && given !== organization) throw this.#refuse("organization_id", given, "is not the organization written to")
    if ("_id" in fields) throw this.#refuse("_id", fields._id, "is reserved; use id")
    this.value(id, undefined, "id")
    const walls = organization === undefined ? { _id: id } : { _id: keyOf(organization, id), organization_id: organization }
    return Object.assign(walls, this.value(fields, timesOf(spec), "") as Bson)
  }

  value(value: unknown, times: TimeTree | undefined, path: string, depth = 0): unknown {
    switch (typeof value) {
      case "string":
        this.size += 16 + 3 * value.length
        if (!value.isWellFormed()) throw this.#refuse(path, value, "holds half of a surrogate pair, which cannot be stored")
        return times?.isTime ? this.#time(value, path) : value
      case "number":
        this.size += 16
        if (!Number.isFinite(value)) throw this.#refuse(path, String(value), "is not a JSON number")
        return value
      case "boolean":
        this.size += 16
        return value
      case "object":
        return value === null ? this.#null() : this.#nested(value, times, path, depth + 1)
      default:
        throw this.#refuse(path, typeof value, "is not JSON")
    }
  }

  #null(): null {
    this.size += 16
    return null
  }

  #nested(value: object, times: TimeTree | undefined, path: string, depth: number): unknown {
    this.size += 16
    if (depth > maxDepth) throw this.#refuse(path.slice(0, 80), "...", `is nested deeper than ${maxDepth} levels`)
    if (Array.isArray(value)) return value.map((item, index) => this.value(item, times, `${path}.${index}`, depth))
    const prototype = Object.getPrototypeOf(value)
    if (prototype !== Object.prototype && prototype !== null) throw this.#refuse(path, "an object of a class", "is not JSON")
    // A copy is necessary only if a date may replace a text below.
    const copy: Bson | undefined = times && times.under.size > 0 ? {} : undefined
    for (const [key, item] of Object.entries(value)) {
      if (item === undefined) continue
      if (key.includes("\0") || !key.isWellFormed()) throw this.#refuse(path, key, "holds a key with NUL or half of a surrogate pair")
      this.size += 3 * key.length
      if (isReservedField(key)) this.#reserve()
      const encoded = this.value(item, times?.under.get(key), path === "" ? key : `${path}.${key}`, depth)
      if (copy) setOwn(copy, key, encoded)
    }
    return copy ?? value
  }

  #reserve(): void {
    this.#hasReservedField = true
    this.size += 16
  }

  #time(value: string, path: string): Date {
    const date = new Date(value)
    if (Number.isNaN(date.getTime()) || date.toISOString() !== value) {
      throw this.#refuse(path, value, "must be RFC 3339 in UTC with milliseconds, such as 2026-01-31T12:00:00.000Z")
    }
    return date
  }

  #refuse(path: string, value: unknown, what: string): AppError {
    const shown = JSON.stringify(value ?? null).slice(0, 100)
    return new AppError("invalid_argument", `${this.collection}: ${path || "the document"} ${what} (given: ${shown}).`, {
      reason: "invalid_fields",
      collection: this.collection,
      fields: [{ path, message: what }],
    })
  }
}

/** Returns the time of a comparison. Accepts any RFC 3339 text of any precision. */
export function comparedTime(text: string, path: string): Date {
  const date = /^\d{4}-\d\d-\d\d([Tt ]\d\d:\d\d|$)/.test(text) ? new Date(text) : new Date(Number.NaN)
  if (!Number.isNaN(date.getTime())) return date
  const message = "must be compared with an RFC 3339 time, such as 2026-01-31T12:00:00.000Z"
  throw new AppError("invalid_argument", `${path} ${message} (given: ${JSON.stringify(text)}).`, {
    reason: "invalid_fields",
    fields: [{ path, message }],
  })
}

export function decode<D extends Document>(spec: CollectionSpec, organization: string | undefined, stored: Bson): D {
  const { _id: key, ...fields } = stored
  restorePlain(fields)
  const doc = { id: idOf(organization, String(key)) }
  return Object.assign(doc, restoreTimes(fields, timesOf(spec))) as unknown as D
}

function restoreTimes(value: unknown, times: TimeTree): unknown {
  if (value instanceof Date) return times.isTime ? value.toISOString() : value
  if (Array.isArray(value)) return value.map((item) => restoreTimes(item, times))
  if (typeof value !== "object" || value === null) return value
  const fields = value as Bson
  for (const [name, below] of times.under) {
    if (Object.hasOwn(fields, name)) fields[name] = restoreTimes(fields[name], below)
  }
  return fields
}

function setOwn(target: Bson, key: string, value: unknown): void {
  if (key !== "__proto__") target[key] = value
  else Object.defineProperty(target, key, { value, enumerable: true, configurable: true, writable: true })
}

/**
 * Keys of documents. Two organizations may have the same id in a collection, so the `_id` of an organization's document is
 * "<organization>/<id>". It is unique, follows the order of ids within an organization, and each organization has its own range.
 * A read without any other index stays in that range. A global document's `_id` is its id.
 */
export function keyOf(organization: string | undefined, id: string): string {
  return organization === undefined ? id : `${prefixOf(organization)}${id}`
}

function idOf(organization: string | undefined, key: string): string {
  return organization === undefined ? key : key.slice(organization.length + 1)
}

/** Returns the key range of an organization: from `$gte` to below `$lt` ("0" is the character after "/"). */
export function rangeOf(organization: string): { $gte: string; $lt: string } {
  return { $gte: prefixOf(organization), $lt: `${organization}0` }
}

function prefixOf(organization: string): string {
  // An organization id has no slash, so the first slash ends it and key ranges never overlap.
  if (organization === "" || organization.includes("/")) {
    throw new AppError("invalid_argument", `organization ${JSON.stringify(organization)} cannot own documents: it is empty or holds "/".`, {
      reason: "invalid_option",
    })
  }
  return `${organization}/`
}
