// What JSON holds: objects, told from lists and from null, and texts that may not be JSON.

/** Tells an object from a list, null and scalars. */
export function isRecord<Value>(value: Of<Value>): value is { [name: string]: Value }
export function isRecord(value: unknown): value is Record<string, unknown>
export function isRecord(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value)
}

type Of<Value> = undefined | null | boolean | number | string | Value[] | { [name: string]: Value }

/** undefined where the text is not JSON. */
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
