// What JSON holds: objects, told from lists and from null, and texts that may not be JSON.

/** Tells an object from a list, null and scalars. */
export function isRecord<Value>(value: Of<Value>): value is { [name: string]: Value }
export function isRecord(value: unknown): value is Record<string, unknown>
export function isRecord(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

/** An object literal, or one without a prototype: not a list, a date or an instance of a class. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** What stands at a path of names and indexes; undefined where nothing does. */
export function valueAt(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (at, key) => (typeof at === "object" && at !== null && Object.hasOwn(at, key) ? (at as Record<PropertyKey, unknown>)[key] : undefined),
    value,
  )
}

type Of<Value> = undefined | null | boolean | number | string | Value[] | { [name: string]: Value }

/** Returns undefined if the text is not JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** A text that is not JSON stands for itself. */
export function jsonOrText(text: string): unknown {
  const value = parsedJson(text)
  return value === undefined ? text : value
}
