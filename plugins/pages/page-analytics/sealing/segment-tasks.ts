// What the sealing process is asked to do. All paths are absolute; results are about the file at `out`.

export type SegmentTask =
  /** One JSON object a line, in `rows`, becomes a segment. */
  | { readonly kind: "write"; readonly rows: string; readonly out: string }
  /** Segments become one, without some rows; none is written where no row is left. */
  | { readonly kind: "merge"; readonly files: readonly string[]; readonly without: readonly string[]; readonly out: string }
  /** Row ids and versions received since then. */
  | { readonly kind: "recent"; readonly files: readonly string[]; readonly since: string }
  /** Those of the files that hold one of the rows. */
  | { readonly kind: "holding"; readonly files: readonly string[]; readonly rowIds: readonly string[] }

export interface WrittenSegment {
  readonly rows: number
  readonly bytes: number
  /** RFC 3339. */
  readonly first_at: string
  readonly last_at: string
}

export interface SegmentResults {
  write: WrittenSegment
  merge: WrittenSegment | null
  recent: [rowId: string, version: string][]
  holding: string[]
}

export interface SegmentRequest {
  readonly id: number
  readonly task: SegmentTask
}

export type SegmentReply =
  | { readonly id: number; readonly result: SegmentResults[keyof SegmentResults]; readonly residentBytes: number }
  | { readonly id: number; readonly failed: string }
