// Text that one of the stores cannot hold as it is: half of a surrogate pair anywhere, NUL in a name. UTF-8 has neither
// halves nor a place for them (RFC 7493, 2.1), so in JSON both can only be written as escapes.

export interface UnstorableText {
  /** JSON pointer, in text that can be stored. */
  readonly pointer: string
  /** What is wrong there, in the words that follow "the body". */
  readonly problem: string
}

const suspect = /\\u(?:[dD][89a-fA-F]|0000)/

/** Whether JSON text may hold any; whole pairs that are written as escapes are looked at as well. */
export function hasUnstorableText(json: string): boolean {
  return suspect.test(json)
}

/** The first place in a parsed value. */
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

/** JSON text as JSON.stringify writes it, with U+FFFD in place of halves of surrogate pairs, as TextEncoder has it. */
export function withoutHalves(json: string): string {
  return json.replaceAll(/\\(?:(ud[89a-f][0-9a-f]{2})|.)/g, (written, half: string | undefined) =>
    half === undefined ? written : "\ufffd",
  )
}

function shown(name: string): string {
  const text = name.replaceAll("\0", "\ufffd").replaceAll("~", "~0").replaceAll("/", "~1")
  return (text.length > 80 ? `${text.slice(0, 80)}…` : text).toWellFormed()
}
