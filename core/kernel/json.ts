// Helpers for JSON: object checks, paths, and lenient parsing.

/** Returns true for an object. Returns false for a list, null or a scalar. */
export function isRecord<Value>(value: Of<Value>): value is { [name: string]: Value }
export function isRecord(value: unknown): value is Record<string, unknown>
export function isRecord(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

/** Returns true for an object literal or an object without a prototype. Lists, dates and class instances return false. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** Returns the value at a path of names and indexes. Undefined if the path does not exist. */
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

/** Parses JSON. Other text is returned unchanged. */
export function jsonOrText(text: string): unknown {
  const value = parsedJson(text)
  return value === undefined ? text : value
}

// Canonical JSON: sorted object keys (RFC 8785) and no undefined values. Two spellings of one value become equal.

/** Returns the canonical text of a value. */
export function canonicalJson(value: unknown): string {
  return textOf(value) ?? "null"
}

/** Returns undefined for values that JSON omits. */
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

// Parses JSON of other systems without rounding. An integer beyond 2^53 becomes the text of its digits, so no digit of an id is
// lost.

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

// A field named "__proto__": JSON.parse creates it, and zod drops it silently.

/** Returns the path of the first such field at any depth. The check runs for every input, so it allocates only for a match. */
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
