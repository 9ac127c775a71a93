// Splits a multipart body at its boundary. Contents are slices of the body and are not looked at, so that ten megabytes
// take a few milliseconds. The heads of the parts are left to the parser of forms.

export interface Part {
  /** Lines of the head, without the empty line behind them. */
  readonly head: Buffer
  readonly content: Buffer
}

/** Returns undefined for a body that is not framed as its boundary says (RFC 2046, 5.1.1), or has more parts. */
export function splitParts(contentType: string, body: Buffer, maxParts: number): Part[] | undefined {
  const [, quoted, plain] = /;\s*boundary\s*=\s*(?:"([^"]{1,200})"|([^;\s]{1,200}))/i.exec(contentType) ?? []
  const boundary = quoted ?? plain
  if (boundary === undefined) return undefined
  const delimiter = Buffer.from(`\r\n--${boundary}`, "latin1")
  const isFirst = body.subarray(0, delimiter.length - 2).equals(delimiter.subarray(2))
  const found = isFirst ? -2 : body.indexOf(delimiter)
  const parts: Part[] = []
  for (let at = found; at >= -2 && at !== -1; ) {
    const start = at + delimiter.length
    if (body[start] === 0x2d && body[start + 1] === 0x2d) return parts
    const line = body.indexOf("\r\n", start, "latin1")
    if (line < 0 || parts.length >= maxParts || !/^[ \t]*$/.test(body.toString("latin1", start, line))) return undefined
    const next = body.indexOf(delimiter, line)
    if (next < 0) return undefined
    const part = partOf(body.subarray(line + 2, Math.max(next, line + 2)))
    if (!part) return undefined
    parts.push(part)
    at = next
  }
  return undefined
}

function partOf(bytes: Buffer): Part | undefined {
  const end = bytes.indexOf("\r\n\r\n", 0, "latin1")
  if (end < 0) return undefined
  return { head: bytes.subarray(0, end), content: bytes.subarray(end + 4) }
}
