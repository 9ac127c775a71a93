// Collections of the columnar copy. The rows themselves are in the dataset `page-events`, and all of this can be rebuilt from
// them.
import { type Document, defineCollection } from "#core"

/** One copy of an organization's events. During a rebuild there are two copies; queries read the live copy. */
export interface Copy extends Document {
  state: "live" | "building"
  /** `created_at` of the last row read in order; null before the first row. */
  cursor: string | null
  /** The copy contains every row committed before this time. Null until it has caught up once. */
  as_of: string | null
  /** True if the last reading reached the end of the rows. The lease's `passed_at` then also applies. */
  caught_up: boolean
  /** Counts changes of the copy. If two nodes seal at once, the revision refuses one of them. */
  revision: number
  created_at: string
  /** Id of a segment whose file a query could not find. The sealing node checks the file as well. */
  missed?: string | null
  /** A file of the copy is missing. The copy receives no more rows, and a new copy will replace it. */
  lost?: true
}

/** One Parquet file. It never changes; changed rows are written to a new file. */
export interface Segment extends Document {
  copy_id: string
  /** UTC day of receipt of its rows, `2026-11-20`. */
  day: string
  /** Key in the bucket. */
  key: string
  rows: number
  bytes: number
  /** Version of the columns at the time of writing. */
  schema: number
  first_at: string
  last_at: string
  sealed_at: string
  /** Since this time no new query reads the segment. Its file is deleted after older queries have ended. Null: live. */
  replaced_at: string | null
  /** The copy's revision that added the segment. Absent for segments of earlier versions; they are older than any snapshot. */
  added_in?: number
  /** The copy's revision that removed the segment. */
  replaced_in?: number
  /** Cause of the replacement. Only merged or rebuilt segments still hold their original rows. */
  replaced_for?: ReplacedFor
  /** Snapshots still need the segment, so it outlives the usual time. */
  kept?: true
  /** Its file has been removed although a snapshot needed it. */
  gone?: true
}

export type ReplacedFor = "merge" | "rebuild" | "rows" | "retention"

/** The segments behind an answer: a copy at one of its revisions. */
export interface SnapshotPlace {
  /** "" if no copy existed. */
  copy_id: string
  revision: number
  as_of: string | null
}

/** A snapshot named in an answer. `id` is the digest of its segments and time. */
export interface HeldSnapshot extends Document, SnapshotPlace {
  created_at: string
  expires_at: string
}

/** A named query and the snapshot of its rows. */
export interface Report extends Document {
  slug: string
  name: string
  query: string
  snapshot: SnapshotPlace & { id: string }
  created_at: string
}

/** A row that needs another look: it was removed, or written long after its receipt. */
export interface RowNote extends Document {
  row_id: string
  /** The row's time of receipt. */
  received_at: string
}

/** An organization with a copy of its events. */
export interface CopiedOrganization extends Document {
  since: string
}

/** Progress of the sealing node. */
export interface SealingState extends Document {
  /** Start of the last pass that left every copy either caught up or marked as behind. Null before the first such pass. */
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
