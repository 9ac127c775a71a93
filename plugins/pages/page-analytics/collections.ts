// What is kept of the columnar copy. The rows themselves are in the dataset `page-events`; all of this can be made again
// from them.
import { type Document, defineCollection } from "#core"

/** One copy of an organization's events. While one is being rebuilt there are two; queries read the live one. */
export interface Copy extends Document {
  state: "live" | "building"
  /** `created_at` of the last row that was read in order; null before the first. */
  cursor: string | null
  /** Every row committed before then is in the copy; null until it has caught up once. */
  as_of: string | null
  /** Whether the last reading reached the end; `passed_at` of the lease then counts as well. */
  caught_up: boolean
  /** Counts changes of the copy: of two nodes that seal at once, one is refused. */
  revision: number
  created_at: string
  /** A segment whose file a query did not find: the node that seals looks for it as well. */
  missed?: string | null
  /** A file of it is gone: nothing is added to it any more, and another copy is made to take its place. */
  lost?: true
}

/** One Parquet file. Never changed once it is there: what changes is written as another. */
export interface Segment extends Document {
  copy_id: string
  /** UTC day that its rows were received on, `2026-11-20`. */
  day: string
  /** In the bucket. */
  key: string
  rows: number
  bytes: number
  /** Version of the columns that it was written with. */
  schema: number
  first_at: string
  last_at: string
  sealed_at: string
  /** Since when no new query reads it; its file goes when no old one can. Null: live. */
  replaced_at: string | null
  /** The copy's revision that it came with; absent for those of earlier versions, which are older than any snapshot. */
  added_in?: number
  /** The copy's revision that it went with. */
  replaced_in?: number
  /** Why: only what was merged, or made again, still holds what it held then. */
  replaced_for?: ReplacedFor
  /** Snapshots need it still, so that it stays beyond the usual time. */
  kept?: true
  /** Its file was removed all the same. */
  gone?: true
}

export type ReplacedFor = "merge" | "rebuild" | "rows" | "retention"

/** What an answer was made from: the segments of a copy at one of its revisions. */
export interface SnapshotPlace {
  /** "" where no copy was there. */
  copy_id: string
  revision: number
  as_of: string | null
}

/** A snapshot that an answer named. `id` is the digest of its segments and time. */
export interface HeldSnapshot extends Document, SnapshotPlace {
  created_at: string
  expires_at: string
}

/** A query with a name, and the snapshot that its rows are of. */
export interface Report extends Document {
  slug: string
  name: string
  query: string
  snapshot: SnapshotPlace & { id: string }
  created_at: string
}

/** A row whose place in the copy must be looked at again: removed, or written long after it was received. */
export interface RowNote extends Document {
  row_id: string
  /** Of the row. */
  received_at: string
}

/** An organization whose events are copied. */
export interface CopiedOrganization extends Document {
  since: string
}

/** How far the node that seals has come. */
export interface SealingState extends Document {
  /** When the last pass over all copies began that left each caught up, or marked as not. Null: none did. */
  passed_at: string | null
}

export const CopiesCollection = defineCollection<Copy>()({
  name: "page_analytics_copies",
  scope: "organization",
  times: ["cursor", "as_of", "created_at"],
  indexes: [],
})

export const SegmentsCollection = defineCollection<Segment>()({
  name: "page_analytics_segments",
  scope: "organization",
  times: ["first_at", "last_at", "sealed_at", "replaced_at"],
  indexes: [{ fields: ["copy_id", "replaced_at"] }],
})

export const SnapshotsCollection = defineCollection<HeldSnapshot>()({
  name: "page_analytics_snapshots",
  scope: "organization",
  times: ["as_of", "created_at", "expires_at"],
  indexes: [{ fields: ["created_at"] }],
  expires: "expires_at",
  audit: "none",
})

export const ReportsCollection = defineCollection<Report>()({
  name: "page_analytics_reports",
  scope: "organization",
  times: ["created_at", "snapshot.as_of"],
  indexes: [{ fields: ["slug"], unique: true }, { fields: ["snapshot.id"] }],
})

export const NotesCollection = defineCollection<RowNote>()({
  name: "page_analytics_notes",
  scope: "organization",
  times: ["received_at"],
  indexes: [],
})

export const CopiedOrganizations = defineCollection<CopiedOrganization>()({
  name: "page_analytics_organizations",
  scope: "global",
  times: ["since"],
  indexes: [],
})

export const SealingCollection = defineCollection<SealingState>()({
  name: "page_analytics_sealing",
  scope: "global",
  times: ["passed_at"],
  indexes: [],
})
