// Packs integers below 2^32 into one to five bytes: seven bits per byte, lowest first. Most gaps between postings need one byte.

export class NumberWriter {
  #bytes = Buffer.allocUnsafe(8_192)
  length = 0

  add(value: number): void {
    if (this.length + 5 > this.#bytes.length) {
      const grown = Buffer.allocUnsafe(2 * this.#bytes.length)
      this.#bytes.copy(grown)
      this.#bytes = grown
    }
    let left = value
    while (left > 127) {
      this.#bytes[this.length++] = (left & 127) | 128
      left >>>= 7
    }
    this.#bytes[this.length++] = left
  }

  /** Returns the bytes written so far. They share memory with the writer. */
  bytes(): Buffer {
    return this.#bytes.subarray(0, this.length)
  }
}

export class NumberReader {
  readonly #bytes: Uint8Array
  readonly #end: number
  #at: number

  constructor(bytes: Uint8Array, from = 0, end = bytes.length) {
    this.#bytes = bytes
    this.#at = from
    this.#end = end
  }

  get atEnd(): boolean {
    return this.#at >= this.#end
  }

  next(): number {
    let byte = this.#bytes[this.#at++] ?? 0
    let value = byte & 127
    for (let shift = 7; byte > 127; shift += 7) {
      byte = this.#bytes[this.#at++] ?? 0
      value |= (byte & 127) << shift
    }
    return value >>> 0
  }

  skip(numbers: number): void {
    for (let left = numbers; left > 0; left--) while ((this.#bytes[this.#at++] ?? 0) > 127);
  }
}

/** Bytes of a packed UUID. */
export const uuidBytes = 16

export function packUuids(ids: readonly string[]): Buffer {
  return Buffer.from(ids.join("").replaceAll("-", ""), "hex")
}

export function uuidsIn(bytes: Uint8Array): string[] {
  const hex = hexOf(bytes)
  return Array.from({ length: Math.floor(bytes.length / uuidBytes) }, (_, at) => uuidOf(hex, 2 * uuidBytes * at))
}

/** Returns undefined beyond the last UUID. */
export function uuidAt(bytes: Uint8Array, at: number): string | undefined {
  const end = (at + 1) * uuidBytes
  return end > bytes.length ? undefined : uuidOf(hexOf(bytes.subarray(end - uuidBytes, end)), 0)
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex")
}

function uuidOf(hex: string, at: number): string {
  return `${hex.slice(at, at + 8)}-${hex.slice(at + 8, at + 12)}-${hex.slice(at + 12, at + 16)}-${hex.slice(at + 16, at + 20)}-${hex.slice(at + 20, at + 32)}`
}
