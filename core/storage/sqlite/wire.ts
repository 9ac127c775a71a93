// What passes between the main thread and the threads that hold the file.
import type { Filter, Update } from "../../contract/store.ts"
import type { ErrorCode, ErrorDetails } from "../../kernel/errors.ts"
import type { Bound, KeyCell } from "./keys.ts"

/**
 * One commit as a flat list: its id, how many organizations and each of them, then its writes. A write begins with kind,
 * table and organization (by position in that list). Then follow, for kinds that bring a document: id, `multi`, the
 * keys, the document's text; for changes: id, a WireChange as JSON.
 */
export type CommitCells = readonly KeyCell[]

export const writeKinds = { insert: 0, keep: 1, update: 2, remove: 3, merge: 4 } as const

/** An update or removal. */
export interface WireChange {
  readonly update?: Update | undefined
  readonly where?: Filter | undefined
  readonly optional?: boolean | undefined
  readonly upsert?: boolean | undefined
  /** With `upsert`: what the document made carries. */
  readonly organization?: string | undefined
}

export interface WireError {
  readonly code: ErrorCode
  readonly message: string
  readonly details: ErrorDetails
}

/** For a commit: a digit a write (1: made a document), or what refused it. */
export type Outcome = string | WireError

export type WriterRequest =
  /** A CommitCells for each commit, packed (packed.ts). */
  | { readonly kind: "group"; readonly group: string }
  | { readonly kind: "expire"; readonly now: string }
  | { readonly kind: "probe" }
  /** Carries over what is left of the log. */
  | { readonly kind: "checkpoint" }

export interface WriterReply {
  readonly seq: number
  /** Of a group, one for each commit. */
  readonly results?: readonly Outcome[]
  /** Of an expiry step: whether more is due. */
  readonly more?: boolean
  /** Set when the whole request failed. */
  readonly failure?: string
}

export interface WireQuery {
  readonly table: string
  readonly organization: string
  /** Conditions that the documents sought fulfil, one list entry each, and what they bind. */
  readonly narrow: readonly { readonly sql: string; readonly binds: readonly Bound[] }[]
  /** Whether a narrowing fails for documents marked `multi`. */
  readonly narrowsKeys: boolean
  /** The exact filter; undefined where the narrowing is exact. */
  readonly filter: Filter | undefined
  /** SQL after WHERE's conditions, and what it binds. */
  readonly order: string
  readonly after: { readonly sql: string; readonly binds: readonly Bound[] } | undefined
  readonly limit: number
  readonly count: boolean
  /** In milliseconds of process.hrtime, which all threads share. */
  readonly deadline: number
}

/** Which organizations have documents in a table. */
export interface WireOrganizations {
  readonly organizationsIn: string
}

export interface ReaderReply {
  /** For each query: JSON text of the list, a count, or what went wrong. */
  readonly answers: readonly (string | number | WireError)[]
}
