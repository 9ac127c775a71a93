// What the index by which events are found keeps: segments in parts, and a list of them for each organization.
import { type Document, defineCollection } from "#core"

/** A segment: where its parts lie, and which entries it holds. */
export interface Segment {
  readonly id: string
  readonly entries: number
  readonly bits: number
  /** Ids in each block. Absent: 1,024. */
  readonly ids_per_block?: number
  /** Ids of its first and last entry. */
  readonly from: string
  readonly to: string
}

/** Which segments there are, and up to which entry they go; `id` is the organization's. */
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

/** Postings of some tokens, or a block of ids. */
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

/** How many ids each block of a segment holds, but the last. */
export function blockLength({ ids_per_block = 1_024 }: Segment): number {
  return ids_per_block
}

/** Blocks of a segment's ids, in their order. */
export function blockIds(segment: Segment): string[] {
  return Array.from({ length: Math.ceil(segment.entries / blockLength(segment)) }, (_, block) => blockId(segment.id, block))
}
