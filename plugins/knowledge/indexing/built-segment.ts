// A segment as text in parts: the index thread builds them, and documents of the store hold one each.
import { Segment } from "./segment.ts"

/** A multiple of four: each part can be decoded by itself. */
const partCharacters = 1_048_576

/** A segment as it is stored. */
export interface BuiltSegment {
  readonly count: number
  /** Base64. */
  readonly parts: readonly string[]
}

export function partsOf(segment: Segment): string[] {
  const text = segment.stored().toString("base64")
  const parts: string[] = []
  for (let from = 0; from < text.length; from += partCharacters) parts.push(text.slice(from, from + partCharacters))
  return parts
}

export function segmentOf(parts: readonly Buffer[]): Segment {
  return Segment.read(Buffer.concat(parts))
}
