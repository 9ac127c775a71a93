// Protects plain JSON objects that the BSON library would read as its own types.
// - It refuses an object with the field `_bsontype`. A Map with the same fields is written as a plain object.
// - It reads an object with `$ref` and `$id` as a database reference, and loses the order of fields and parts of values. A
//   further field of a type outside JSON prevents that. Reads remove the field.
import { MinKey } from "mongodb"

const marker = "$plain"

/** Returns true if an object with this field may need `protectPlain`. */
export function isReservedField(name: string): boolean {
  return name === "_bsontype" || name === "$id"
}

/** Replaces every object at risk, at any depth. Instances of classes stay unchanged. */
export function protectPlain<T>(value: T): T {
  return protect(value) as T
}

function protect(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value
  if (Array.isArray(value)) return value.map(protect)
  const prototype = Object.getPrototypeOf(value)
  if (prototype !== Object.prototype && prototype !== null) return value
  const fields = new Map(Object.entries(value).map(([name, inside]) => [name, protect(inside)]))
  const isLikeReference = fields.has("$ref") && fields.has("$id")
  // The library does not treat an object with a further dollar field as a reference.
  if (isLikeReference && !fields.has(marker)) fields.set(marker, new MinKey())
  return fields
}

/** Removes the additions of `protectPlain` in place. */
export function restorePlain(value: object): void {
  if (Array.isArray(value)) {
    for (const item of value) if (typeof item === "object" && item !== null) restorePlain(item)
    return
  }
  const fields = value as Record<string, unknown>
  for (const name in fields) {
    const inside = fields[name]
    if (typeof inside !== "object" || inside === null) continue
    if (name === marker && inside instanceof MinKey) delete fields[name]
    else restorePlain(inside)
  }
}
