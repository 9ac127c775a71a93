// Bytes of a document as text. Decoded leniently, an umlaut in Latin-1 would be stored as U+FFFD, and nobody would hear of it.

/** The message for invalid UTF-8. */
export const notUtf8 = "The file is not valid UTF-8. Save it in that encoding."

/** Without a byte order mark. undefined where it is not UTF-8, or holds NUL, as UTF-16 does. */
export function utf8Text(bytes: Uint8Array): string | undefined {
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes)
    return text.includes("\0") ? undefined : text
  } catch (error) {
    if (error instanceof TypeError) return undefined
    throw error
  }
}
