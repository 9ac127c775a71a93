// What the service and its reading process say to each other, in frames: a length of four bytes, little-endian, and as
// many bytes. A task is a frame of JSON and one of the document. An answer is a frame of JSON.

export interface ReadTask {
  readonly type: "html" | "pdf" | "text"
  /** Of a text or an HTML document. */
  readonly charset: string
  readonly maxCharacters: number
  readonly maxPages: number
}

/** Why a document has no text that can be kept; `content_reason` of items. */
export type ReadFault = "malformed" | "encrypted" | "too_long" | "too_many_pages" | "no_text"

export type ReadAnswer =
  | { readonly kind: "ready" }
  | { readonly kind: "text"; readonly title: string; readonly text: string }
  | { readonly kind: "fault"; readonly fault: ReadFault; readonly message: string }

/** What became of a document. */
export type ReadResult = Exclude<ReadAnswer, { kind: "ready" }>

export function frameOf(value: ReadTask | ReadAnswer): Buffer {
  const body = Buffer.from(JSON.stringify(value))
  return Buffer.concat([lengthOf(body), body])
}

/** What stands before a document of a frame. */
export function lengthOf(body: Uint8Array): Buffer {
  const head = Buffer.alloc(4)
  head.writeUInt32LE(body.length)
  return head
}

/** Hands on the body of each complete frame. Throws for one longer than `maxBytes`. */
export function frameReader(maxBytes: number, take: (body: Buffer) => void): (chunk: Buffer) => void {
  let chunks: Buffer[] = []
  let [held, wanted] = [0, 4]
  return (chunk) => {
    chunks.push(chunk)
    held += chunk.length
    while (held >= wanted) {
      const all = Buffer.concat(chunks)
      const length = all.readUInt32LE(0)
      if (length > maxBytes) throw new RangeError(`A frame of ${length} bytes is too long.`)
      wanted = 4 + length
      chunks = [all]
      if (held < wanted) return
      const rest = all.subarray(wanted)
      chunks = [rest]
      held = rest.length
      wanted = 4
      take(all.subarray(4, 4 + length))
    }
  }
}
