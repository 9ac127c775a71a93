// A segment as text in parts. The index thread builds the parts, and a document of the store holds one part.
import { deserialize } from "node:v8"
import { type Packed, Segment } from "./segment.ts"

/** Bounds the main thread's work per turn. A multiple of four, so each part can be decoded by itself. */
const partCharacters = 262_144

/** A segment built by the index thread. */
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
