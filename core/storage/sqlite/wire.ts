// What passes between the main thread and the threads that hold the file.
import type { Filter, Update } from "../../contract/store.ts"
import type { ErrorCode, ErrorDetails } from "../../kernel/errors.ts"
import type { Bound, KeyCell } from "./keys.ts"
import type { Shape } from "./shape.ts"

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
}

export interface WireError {
  readonly code: ErrorCode
  readonly message: string
  readonly details: ErrorDetails
}

/** For a commit: a digit a write (1: made a document), or what refused it. */
export type WireOutcome = string | WireError

export type WriterRequest =
  /** A CommitCells for each commit, packed (packed.ts). */
  | { readonly kind: "group"; readonly group: string }
  | { readonly kind: "expire"; readonly now: string }
  | { readonly kind: "probe" }
  /** Carries over what is left of the log. */
  | { readonly kind: "checkpoint" }

/** What the writer is asked; its reply has the same number. */
export interface SentRequest {
  readonly seq: number
  readonly request: WriterRequest
}

/** Why the file can no longer be used as it is. */
export interface FileFault {
  readonly reason: "storage_corrupt" | "storage_missing"
  readonly message: string
}

/** Commits that the log held once and no longer does. */
export interface LostCommits {
  readonly groups: number
  /** When the last of them was committed. */
  readonly at: string
  /** A copy of the log as it was found; undefined where it could not be made. */
  readonly log: string | undefined
}

export interface WriterReply {
  readonly seq: number
  /** In the first reply: what the log has lost since it was written. */
  readonly lost?: LostCommits | undefined
  /** Of a group, one for each commit. */
  readonly results?: readonly WireOutcome[]
  /** Of an expiry step: whether more is due. */
  readonly more?: boolean
  /** Set when the whole request failed. */
  readonly failure?: string
  /** With `failure`: the disk, or the space that the file may take, is full. */
  readonly full?: boolean
  /** With `failure`: set where no further request can go through until somebody has seen to the file. */
  readonly fault?: FileFault
}

export interface WireQuery {
  readonly table: string
  readonly organization: string
  /** Conditions that the documents sought fulfil, one list entry each, and what they bind; ids as they are written. */
  readonly narrow: readonly { readonly sql: string; readonly binds: readonly Bound[]; readonly ids?: true }[]
  /** Whether a narrowing fails for documents marked `multi`. */
  readonly narrowsKeys: boolean
  /** The exact filter; undefined where the narrowing is exact. */
  readonly filter: Filter | undefined
  /** The narrowing is exact for documents that are not marked `multi`. */
  readonly exact: boolean
  /** SQL of each key that the answer is in order of. */
  readonly order: readonly { readonly key: string; readonly descends: boolean }[]
  /** The key has one of these values; an index has them each in the order asked for. */
  readonly merge: { readonly key: string; readonly values: readonly Bound[] } | undefined
  /** What is found is put in order, in place of being sought in that order. */
  readonly sorts: boolean
  /** SQL of what comes after a place in the order, and what it binds. */
  readonly after: { readonly sql: string; readonly binds: readonly Bound[] } | undefined
  readonly limit: number
  readonly count: boolean
  /** Leave out documents whose text is not JSON; set when an answer was found to hold one. */
  readonly soundOnly?: boolean
  /** In milliseconds of process.hrtime, which all threads share. */
  readonly deadline: number
}

/** The document that has an id: little to pass on, since there is nothing to compare or put in order. */
export interface WireLookUp {
  /** The table. */
  readonly lookUp: string
  readonly organization: string
  readonly id: string
}

/** Which organizations have documents in a table. */
export interface WireOrganizations {
  readonly organizationsIn: string
}

export type WireRead = WireQuery | WireLookUp | WireOrganizations

/** What a reading thread is started with. */
export interface ReaderData {
  readonly file: string
  /** By table. */
  readonly shapes: Readonly<Record<string, Shape>>
}

/** Queries, or `more` for what the last reply left out. */
export type ReaderRequest = readonly WireRead[] | "more"

/** Has a bounded size, since one turn of the main thread parses it. */
export interface ReaderReply {
  /** For each query in order: JSON text of the list, a count, or what went wrong. */
  readonly answers: readonly (string | number | WireError)[]
  /** The last answer continues in the next reply. */
  readonly isCut: boolean
  readonly hasMore: boolean
  /** Tables in which documents were left out because their text is not JSON. */
  readonly unreadable: readonly string[]
}
