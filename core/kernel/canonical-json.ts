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
