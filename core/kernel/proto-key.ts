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
