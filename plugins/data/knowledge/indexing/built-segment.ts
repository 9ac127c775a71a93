// A segment as text in parts: the index thread builds them, and documents of the store hold one each.
import { deserialize } from "node:v8"
import { type Packed, Segment } from "./segment.ts"

/** Bounds the work of one turn of the main thread. A multiple of four: each part can be decoded by itself. */
const partCharacters = 262_144

/** A segment that the index thread has built. */
export interface BuiltSegment {
  readonly count: number
  readonly parts: number
}

/** Base64. */
export function partsOf(segment: Segment): string[] {
  const text = segment.stored().toString("base64")
  const parts: string[] = []
  for (let from = 0; from < text.length; from += partCharacters) parts.push(text.slice(from, from + partCharacters))
  return parts
}

export function packedOf(parts: readonly Buffer[]): Packed {
  return deserialize(Buffer.concat(parts)) as Packed
}

export function segmentOf(parts: readonly Buffer[]): Segment {
  return new Segment(packedOf(parts))
}
