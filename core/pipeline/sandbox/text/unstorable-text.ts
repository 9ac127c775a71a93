// Text without a stored form in one of the stores: half of a surrogate pair anywhere, or NUL in a name. UTF-8 cannot encode
// halves (RFC 7493, 2.1), so in JSON both occur only as escapes.

export interface UnstorableText {
  /** JSON pointer in storable text. */
  readonly pointer: string
  /** The problem as words after "the body". */
  readonly problem: string
}

const suspect = /\\u(?:[dD][89a-fA-F]|0000)/

/** Returns true if JSON text may contain unstorable text. It also matches whole pairs written as escapes. */
export function hasUnstorableText(json: string): boolean {
  return suspect.test(json)
}

/** Returns the first unstorable text in a parsed value. */
export function unstorableText(value: unknown, pointer = ""): UnstorableText | undefined {
  if (typeof value === "string")
    return value.isWellFormed() ? undefined : { pointer, problem: `holds half of a surrogate pair at ${pointer || "its top"}` }
  if (typeof value !== "object" || value === null) return undefined
  for (const [name, inside] of Object.entries(value)) {
    const at = `${pointer}/${shown(name)}`
    if (name.includes("\0")) return { pointer: at, problem: `holds a name with NUL at ${at}` }
    if (!name.isWellFormed()) return { pointer: at, problem: `holds a name with half of a surrogate pair at ${at}` }
    const found = unstorableText(inside, at)
    if (found) return found
  }
  return undefined
}

/** Replaces halves of surrogate pairs in the output of JSON.stringify with U+FFFD, like TextEncoder. */
export function withoutHalves(json: string): string {
  return json.replaceAll(/\\(?:(ud[89a-f][0-9a-f]{2})|.)/g, (written, half: string | undefined) =>
    half === undefined ? written : "\ufffd",
  )
}

function shown(name: string): string {
  const text = name.replaceAll("\0", "\ufffd").replaceAll("~", "~0").replaceAll("/", "~1")
  return (text.length > 80 ? `${text.slice(0, 80)}…` : text).toWellFormed()
}
