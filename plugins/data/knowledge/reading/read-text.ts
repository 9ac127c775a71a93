// Reads plain text and Markdown: decodes the bytes, and normalizes line ends to line feeds.
import type { ReadResult } from "./protocol.ts"
import { tooLong } from "./read-html.ts"

/** Maximum UTF-8 bytes per character, doubled: two characters of a line end become one. */
const bytesPerCharacter = 6

/** Returns the number of bytes above which a text is too long in every script. */
export function maxTextBytes(maxCharacters: number): number {
  return bytesPerCharacter * maxCharacters
}

export function readText(bytes: Uint8Array, charset: string, maxCharacters: number): ReadResult {
  if (bytes.length > maxTextBytes(maxCharacters)) return tooLong(maxCharacters)
  const text = withLineFeeds(decoded(bytes, charset))
  if (text.length > maxCharacters) return tooLong(maxCharacters)
  if (text.trim() === "") return { kind: "fault", fault: "no_text", message: "The document has no text." }
  return { kind: "text", title: "", text }
}

/** An unknown charset counts as UTF-8. */
export function decoded(bytes: Uint8Array, charset: string): string {
  try {
    return new TextDecoder(charset).decode(bytes)
  } catch {
    return new TextDecoder("utf-8").decode(bytes)
  }
}

function withLineFeeds(text: string): string {
  return text.replaceAll("\r\n", "\n").replaceAll("\r", "\n").replaceAll("\0", "")
}
