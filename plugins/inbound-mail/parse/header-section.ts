// The header section of a raw message, read without the rest: what the SMTP server must know before it answers.

/** Up to and without the empty line, or all of what has none. */
export function headerSectionOf(raw: Uint8Array): Uint8Array {
  const bytes = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength)
  if (bytes.subarray(0, 2).toString("latin1") === "\r\n") return bytes.subarray(0, 0)
  const end = bytes.indexOf("\r\n\r\n")
  return end < 0 ? bytes : bytes.subarray(0, end + 2)
}

export interface FirstLook {
  /** Of `Message-ID`, with angle brackets; empty where it has none. */
  readonly messageId: string
  /** Of `From`, as it stands there. */
  readonly from: string
  readonly receivedCount: number
}

export function firstLook(section: Uint8Array): FirstLook {
  const text = Buffer.from(section).toString("latin1")
  const value = (name: string) => new RegExp(`^${name}[ \\t]*:(.*(?:\\r\\n[ \\t].*)*)`, "im").exec(text)?.[1] ?? ""
  return {
    messageId: /<[^<>\s]{1,900}>/.exec(value("message-id"))?.[0] ?? "",
    from: value("from").replace(/\s+/g, " ").trim().slice(0, 1_000),
    receivedCount: text.match(/^received[ \t]*:/gim)?.length ?? 0,
  }
}

/** Whether a line ends in anything but CRLF: what mail servers read differently, so that messages hide in messages. */
export function hasBareNewline(raw: Uint8Array): boolean {
  for (let at = raw.indexOf(10); at >= 0; at = raw.indexOf(10, at + 1)) if (raw[at - 1] !== 13) return true
  for (let at = raw.indexOf(13); at >= 0; at = raw.indexOf(13, at + 1)) if (raw[at + 1] !== 10) return true
  return false
}
