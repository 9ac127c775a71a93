// Collections of the event index: segments in parts, and a list of segments per organization.
import { type Document, defineCollection } from "#core"

/** A segment: the location of its parts and its range of entries. */
export interface Segment {
  readonly id: string
  readonly entries: number
  readonly bits: number
  /** IDs in each block. Absent: 1,024. */
  readonly ids_per_block?: number
  /** Receipt times of the first and last entry. */
  readonly from: string
  readonly to: string
}

/** List of segments and the receipt time the index has reached. `id` is the organization's ID. */
export interface EventIndex extends Document {
  through: string
  segments: Segment[]
  revision: number
}

export const EventIndexCollection = defineCollection<EventIndex>()({
  name: "event_indexes",
  scope: "organization",
  times: [],
  indexes: [],
  audit: "none",
})

/** Postings of some tokens, or a block of IDs. */
export interface EventIndexPart extends Document {
  base64: string
  expires_at: string
}

export const EventIndexPartCollection = defineCollection<EventIndexPart>()({
  name: "event_index_parts",
  scope: "organization",
  times: ["expires_at"],
  indexes: [],
  expires: "expires_at",
  audit: "none",
})

export function postingsId(segment: string, part: number): string {
  return `${segment}:p${part}`
}

export function blockId(segment: string, block: number): string {
  return `${segment}:i${block}`
}

/** Returns the number of IDs in each block of a segment. The last block may hold fewer. */
export function blockLength({ ids_per_block = 1_024 }: Segment): number {
  return ids_per_block
}

/** Returns the IDs of a segment's blocks, in order. */
export function blockIds(segment: Segment): string[] {
  return Array.from({ length: Math.ceil(segment.entries / blockLength(segment)) }, (_, block) => blockId(segment.id, block))
}
