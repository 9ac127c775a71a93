// Decodes PNGs in the form of browsers (8 bits per channel, RGB or RGBA, not interlaced), so tests can check pixels. PNG
// specification, sections 7 to 9.
import { inflateSync } from "node:zlib"

export interface Pixels {
  readonly width: number
  readonly height: number
  /** Red, green, blue. */
  at(x: number, y: number): [number, number, number]
}

export function decodePng(bytes: Buffer): Pixels {
  const parts: Buffer[] = []
  let width = 0
  let height = 0
  let channels = 0
  for (let at = 8; at < bytes.length; ) {
    const length = bytes.readUInt32BE(at)
    const kind = bytes.toString("latin1", at + 4, at + 8)
    const data = bytes.subarray(at + 8, at + 8 + length)
    if (kind === "IHDR") {
      width = data.readUInt32BE(0)
      height = data.readUInt32BE(4)
      channels = data[9] === 6 ? 4 : 3
      if (data[8] !== 8 || (data[9] !== 2 && data[9] !== 6) || data[12] !== 0) throw new Error("not a PNG that this reads")
    } else if (kind === "IDAT") parts.push(data)
    at += length + 12
  }
  const pixels = unfilter(inflateSync(Buffer.concat(parts)), width * channels, height, channels)
  return {
    width,
    height,
    at(x, y) {
      const offset = (y * width + x) * channels
      return [pixels[offset] ?? -1, pixels[offset + 1] ?? -1, pixels[offset + 2] ?? -1]
    },
  }
}

function unfilter(raw: Buffer, rowBytes: number, height: number, channels: number): Buffer {
  const out = Buffer.alloc(rowBytes * height)
  for (let row = 0; row < height; row++) {
    const filter = raw[row * (rowBytes + 1)] ?? 0
    for (let column = 0; column < rowBytes; column++) {
      const leftValue = column >= channels ? (out[row * rowBytes + column - channels] ?? 0) : 0
      const up = row > 0 ? (out[(row - 1) * rowBytes + column] ?? 0) : 0
      const corner = row > 0 && column >= channels ? (out[(row - 1) * rowBytes + column - channels] ?? 0) : 0
      const predicted = [0, leftValue, up, (leftValue + up) >> 1, paeth(leftValue, up, corner)][filter] ?? 0
      out[row * rowBytes + column] = ((raw[row * (rowBytes + 1) + 1 + column] ?? 0) + predicted) & 0xff
    }
  }
  return out
}

function paeth(left: number, up: number, corner: number): number {
  const estimate = left + up - corner
  const [byLeft, byUp, byCorner] = [Math.abs(estimate - left), Math.abs(estimate - up), Math.abs(estimate - corner)]
  if (byLeft <= byUp && byLeft <= byCorner) return left
  return byUp <= byCorner ? up : corner
}
