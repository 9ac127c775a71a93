// Decodes mail texts as mail clients do: by conclusive bytes, else by a plausible label, else by detection. Invalid bytes become
// U+FFFD.
import { decodeByContent } from "./detect.ts"
import { decodeAs, decodeRoughly, isMultiByte, labelOf } from "./labels.ts"

/** Tolerated share of invalid bytes among those above 127. */
const maxBroken = 0.1

export interface CharsetEvidence {
  /** The author's label, unchanged. */
  readonly declared?: string | undefined
  /** Labels of other parts and headers. */
  readonly hints?: readonly string[]
}

export function decodeText(bytes: Uint8Array, { declared = "", hints = [] }: CharsetEvidence): string {
  const marked = decodeMarked(bytes)
  if (marked !== undefined) return marked
  const label = labelOf(declared)
  const wide = decodeWide(bytes, label)
  if (wide !== undefined) return wide
  if (!bytes.some((byte) => byte > 127)) return decodeSevenBit(bytes, label)
  const utf8 = decodeAs("utf-8", bytes)
  const byLabel = label === "" || label === "utf-8" ? undefined : decodeAs(label, bytes)
  // Pairs of bytes are valid in UTF-8 and in Asian charsets. Longer sequences are UTF-8.
  if (utf8 !== undefined && (byLabel === undefined || !isMultiByte(label) || /[\u0800-\uffff]/.test(utf8))) return utf8
  if (byLabel !== undefined) return byLabel
  const rough = decodeRoughly(label === "" ? "utf-8" : label, bytes)
  if (isNearlyWhole(rough)) return rough
  return decodeByContent(bytes, hints)?.text ?? rough
}

/** Decodes by a byte order mark. */
function decodeMarked(bytes: Uint8Array): string | undefined {
  const [a, b, c] = bytes
  if (a === 0xef && b === 0xbb && c === 0xbf) return decodeText(bytes.subarray(3), { declared: "utf-8" })
  if (a === 0xff && b === 0xfe) return decodeRoughly("utf-16le", bytes.subarray(2))
  if (a === 0xfe && b === 0xff) return decodeRoughly("utf-16be", bytes.subarray(2))
  return undefined
}

/** Decodes UTF-16 and UTF-32 without a mark, by label or by the positions of zero bytes. */
function decodeWide(bytes: Uint8Array, label: string): string | undefined {
  const sample = bytes.subarray(0, 4_096)
  const lows = [0, 0]
  for (const [at, byte] of sample.entries()) if (byte < 9) lows[at % 2] = (lows[at % 2] ?? 0) + 1
  const [even = 0, odd = 0] = lows
  const isNamed = /^(?:csunicode|unicode|ucs-?2|iso-10646|utf-?(?:16|32))/.test(label)
  if (isNamed && even + odd > 0 && /32/.test(label)) return decodeAs(label, bytes)
  // In Latin text half of the bytes are zero.
  if (even + odd === 0 || (!isNamed && Math.max(even, odd) < sample.length / 4)) return undefined
  return decodeAs(even > odd ? "utf-16be" : "utf-16le", bytes)
}

function decodeSevenBit(bytes: Uint8Array, label: string): string {
  const text = Buffer.from(bytes).toString("latin1")
  const escapes = text.includes("\x1b")
  if (escapes && (label === "iso-2022-kr" || text.includes("\x1b$)C"))) return decodeAs("iso-2022-kr", bytes) ?? text
  if (escapes) return decodeAs("iso-2022-jp", bytes) ?? text
  if (label === "iso-2022-kr" || label === "hz-gb-2312" || label === "utf-7") return decodeAs(label, bytes) ?? text
  return text
}

/** Returns true for a text with few invalid characters, such as a truncated message. */
function isNearlyWhole(text: string): boolean {
  const broken = text.split("\ufffd").length - 1
  const others = text.match(/[^\0-\x7f\ufffd]/g)?.length ?? 0
  return broken <= others * maxBroken
}
