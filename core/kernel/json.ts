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

// JSON with object keys in order (RFC 8785's) and nothing undefined, so that two spellings of one value are equal.

/** The text that every spelling of an equal value has. */
export function canonicalJson(value: unknown): string {
  return textOf(value) ?? "null"
}

/** undefined for what JSON leaves out. */
function textOf(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null) return JSON.stringify(value)
  if ("toJSON" in value && typeof value.toJSON === "function") return textOf(value.toJSON())
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`
  const fields: string[] = []
  for (const [key, inner] of Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) {
    const text = textOf(inner)
    if (text !== undefined) fields.push(`${JSON.stringify(key)}:${text}`)
  }
  return `{${fields.join(",")}}`
}

// Parses JSON of other systems without rounding: an integer beyond 2^53 becomes the text of its digits, so an id keeps each digit.

const longInteger = /\d{16}/
const integer = /^-?\d+$/

/** Throws SyntaxError. */
export function exactJson(text: string): unknown {
  return longInteger.test(text) ? JSON.parse(text, digitsOfLongInteger) : JSON.parse(text)
}

function digitsOfLongInteger(_key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== "number" || Number.isSafeInteger(value)) return value
  const source = context?.source
  return source !== undefined && integer.test(source) ? source : value
}

// A field named "__proto__": JSON.parse gives it, and zod leaves it out without a word.

/** The way to one that stands anywhere in a JSON value. Every input is looked over, so nothing is made on the way. */
export function protoKey(value: unknown): string[] | undefined {
  if (typeof value !== "object" || value === null) return undefined
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at++) {
      const below = protoKey(value[at])
      if (below) return [String(at), ...below]
    }
    return undefined
  }
  for (const key in value) {
    const below = key === "__proto__" ? [] : protoKey((value as Record<string, unknown>)[key])
    if (below) return [key, ...below]
  }
  return undefined
}
