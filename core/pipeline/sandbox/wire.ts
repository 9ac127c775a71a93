// Protocol between this process and its sandbox children. A frame is a four-byte length and UTF-8 text, and each text is a list
// of strings. A list is packed as its lengths and the joined strings, so an event costs a slice without parsing.

/** Strings per event result. */
export const fieldsOut = 5

/** Packs strings into a text: `3,0,12` (lengths in UTF-16 units), a newline, and the joined strings. */
export function pack(parts: readonly string[]): string {
  let lengths = ""
  for (const part of parts) lengths += lengths === "" ? part.length : `,${part.length}`
  return `${lengths}\n${parts.join("")}`
}

/** Returns the packed list. */
export function unpack(text: string): string[] {
  const parts: string[] = []
  const end = text.indexOf("\n")
  let at = end + 1
  let length = 0
  for (let i = 0; i <= end; i++) {
    const digit = text.charCodeAt(i) - 48
    if (digit >= 0 && digit <= 9) {
      length = length * 10 + digit
      continue
    }
    if (end > 0) parts.push(text.slice(at, at + length))
    at += length
    length = 0
  }
  return parts
}

/** Returns a frame ready to write. */
export function frameOf(parts: readonly string[]): Buffer {
  const text = pack(parts)
  const length = Buffer.byteLength(text)
  const frame = Buffer.allocUnsafe(length + 4)
  frame.writeUInt32BE(length, 0)
  frame.write(text, 4, "utf8")
  return frame
}

/** Collects chunks of a stream and emits the list of each complete frame. */
export class FrameReader {
  #chunks: Buffer[] = []
  #size = 0
  readonly #onFrame: (parts: string[]) => void

  constructor(onFrame: (parts: string[]) => void) {
    this.#onFrame = onFrame
  }

  push(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#size += chunk.length
    if (this.#size < 4 || this.#size < this.#wanted()) return
    const all = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks)
    let at = 0
    while (all.length - at >= 4) {
      const end = at + 4 + all.readUInt32BE(at)
      if (end > all.length) break
      const text = all.toString("utf8", at + 4, end)
      at = end
      this.#onFrame(unpack(text))
    }
    this.#chunks = at === all.length ? [] : [all.subarray(at)]
    this.#size = all.length - at
  }

  /** Returns the bytes of the first frame. Joins chunks only if the length itself is split over two chunks. */
  #wanted(): number {
    const first = this.#chunks[0]
    if (first && first.length >= 4) return 4 + first.readUInt32BE(0)
    const all = Buffer.concat(this.#chunks)
    this.#chunks = [all]
    return all.length < 4 ? 4 : 4 + all.readUInt32BE(0)
  }
}
