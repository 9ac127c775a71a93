// What the service and its reading process say to each other: a frame is a length of four bytes, little-endian, and JSON.

export interface ReadTask {
  readonly type: "html" | "pdf"
  readonly base64: string
  readonly maxCharacters: number
  readonly maxPages: number
}

/** Why a document has no text that can be kept; `content_reason` of items. */
export type ReadFault = "malformed" | "encrypted" | "too_long" | "too_many_pages" | "no_text"

export type ReadAnswer =
  | { readonly kind: "ready" }
  | { readonly kind: "text"; readonly title: string; readonly text: string }
  | { readonly kind: "fault"; readonly fault: ReadFault; readonly message: string }

export function frameOf(value: ReadTask | ReadAnswer): Buffer {
  const body = Buffer.from(JSON.stringify(value))
  const head = Buffer.alloc(4)
  head.writeUInt32LE(body.length)
  return Buffer.concat([head, body])
}

/** Hands on each complete frame; throws for one longer than `maxBytes`. */
export function frameReader(maxBytes: number, take: (value: unknown) => void): (chunk: Buffer) => void {
  let held = Buffer.alloc(0)
  return (chunk) => {
    held = Buffer.concat([held, chunk])
    while (held.length >= 4) {
      const length = held.readUInt32LE(0)
      if (length > maxBytes) throw new RangeError(`A frame of ${length} bytes is too long.`)
      if (held.length < 4 + length) return
      const body = held.subarray(4, 4 + length)
      held = held.subarray(4 + length)
      take(JSON.parse(body.toString("utf8")))
    }
  }
}
