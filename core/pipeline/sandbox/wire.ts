// How this process and its sandbox children talk: frames of a four-byte length and UTF-8 text, each text a list of
// strings. Lists are packed as their lengths and then all of them joined, so that one event costs a slice, no parsing.

/** Strings of one event's result. */
export const fieldsOut = 5

/** Strings as one: `3,0,12` (lengths in UTF-16 units), a newline, and then the strings themselves. */
export function pack(parts: readonly string[]): string {
  let lengths = ""
  for (const part of parts) lengths += lengths === "" ? part.length : `,${part.length}`
  return `${lengths}\n${parts.join("")}`
}

/** The list that was packed. */
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

/** A frame ready to be written. */
export function frameOf(parts: readonly string[]): Buffer {
  const text = pack(parts)
  const length = Buffer.byteLength(text)
  const frame = Buffer.allocUnsafe(length + 4)
  frame.writeUInt32BE(length, 0)
  frame.write(text, 4, "utf8")
  return frame
}

/** Collects chunks of a stream and gives out each whole frame's list. */
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

  /** Bytes that the first frame needs; joins chunks only where even its length is split over two of them. */
  #wanted(): number {
    const first = this.#chunks[0]
    if (first && first.length >= 4) return 4 + first.readUInt32BE(0)
    const all = Buffer.concat(this.#chunks)
    this.#chunks = [all]
    return all.length < 4 ? 4 : 4 + all.readUInt32BE(0)
  }
}
