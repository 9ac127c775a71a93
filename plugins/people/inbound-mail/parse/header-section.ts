// Reads the header section of a raw message without the body. The SMTP server needs these headers before its answer.
import { createHash, subtle } from "node:crypto"

/** Returns the bytes before the empty line, or all bytes without an empty line. */
export function headerSectionOf(raw: Uint8Array): Uint8Array {
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength)
  if (bytes.subarray(0, 2).toString("latin1") === "\r\n") return bytes.subarray(0, 0)
  const end = bytes.indexOf("\r\n\r\n")
  return end < 0 ? bytes : bytes.subarray(0, end + 2)
}

/** Headers written by authors. Servers on the way add and change others. */
const authored =
  "from|sender|reply-to|to|cc|subject|date|message-id|in-reply-to|references|mime-version|content-type|content-transfer-encoding"

/** Returns a digest of the authored headers and the body. Repeated deliveries of a message have the same digest. */
export async function contentDigest(raw: Uint8Array<ArrayBuffer>, section: Uint8Array): Promise<string> {
  // Runs outside the main thread, because bodies are large.
  const body = await subtle.digest("SHA-256", raw.subarray(section.length))
  return createHash("sha256").update(fieldsOf(section, authored).join("\n")).update(new Uint8Array(body)).digest("hex")
}

/** Returns a digest of the DKIM signatures. */
export function signaturesDigest(section: Uint8Array): string {
  return createHash("sha256").update(fieldsOf(section, "dkim-signature").join("\n")).digest("hex")
}

function fieldsOf(section: Uint8Array, names: string): string[] {
  const text = Buffer.from(section).toString("latin1")
  const fields = text.match(new RegExp(`^(?:${names})[ \\t]*:.*(?:\\r\\n[ \\t].*)*`, "gim")) ?? []
  return fields.map((field) => field.replace(/\s+/g, " ").trim())
}

/** Returns the number of `Received` headers. */
export function receivedCount(section: Uint8Array): number {
  return (
    Buffer.from(section)
      .toString("latin1")
      .match(/^received[ \t]*:/gim)?.length ?? 0
  )
}

/**
 * Returns true if a line ends in anything but CRLF. Mail servers disagree about these line ends, so a message could hide inside
 * another (SMTP smuggling).
 */
export function hasBareNewline(raw: Uint8Array): boolean {
  for (let at = raw.indexOf(10); at >= 0; at = raw.indexOf(10, at + 1)) if (raw[at - 1] !== 13) return true
  for (let at = raw.indexOf(13); at >= 0; at = raw.indexOf(13, at + 1)) if (raw[at + 1] !== 10) return true
  return false
}
