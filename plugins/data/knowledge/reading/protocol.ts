// What the service and its reading process say to each other, in frames: a length of four bytes, little-endian, and as
// many bytes. A task is a frame of JSON and one of the document. An answer is a frame of JSON. A text follows in small frames,
// so that the service decodes each as it comes.

export interface ReadTask {
  readonly type: "html" | "pdf" | "text"
  /** Of a text or an HTML document. */
  readonly charset: string
  readonly maxCharacters: number
  readonly maxPages: number
}

/** Why a document has no text that can be kept; `content_reason` of items. */
export type ReadFault = "malformed" | "encrypted" | "too_long" | "too_many_pages" | "no_text"

interface Fault {
  readonly kind: "fault"
  readonly fault: ReadFault
  readonly message: string
}

/** What became of a document. */
export type ReadResult = { readonly kind: "text"; readonly title: string; readonly text: string } | Fault

/** The first frame of an answer. So many frames of text follow. */
export type ReadAnswer = { readonly kind: "ready" } | { readonly kind: "text"; readonly title: string; readonly frames: number } | Fault

const textFrameBytes = 65_536

/** The frames of an answer. */
export function framesOf(result: ReadResult): Buffer {
  if (result.kind !== "text") return frameOf(result)
  const bytes = Buffer.from(result.text)
  const parts: Buffer[] = []
  for (let from = 0; from < bytes.length; from += textFrameBytes) {
    const part = bytes.subarray(from, from + textFrameBytes)
    parts.push(lengthOf(part), part)
  }
  return Buffer.concat([frameOf({ kind: "text", title: result.title, frames: parts.length / 2 }), ...parts])
}

export function frameOf(value: ReadTask | ReadAnswer): Buffer {
  const body = Buffer.from(JSON.stringify(value))
  return Buffer.concat([lengthOf(body), body])
}

/** What stands before so many bytes in a frame. */
export function lengthOf({ length }: { readonly length: number }): Buffer {
  const head = Buffer.alloc(4)
  head.writeUInt32LE(length)
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
