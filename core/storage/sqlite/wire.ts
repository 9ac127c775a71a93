// Messages between the main thread and the threads with the open file.
import type { Filter, Update } from "../../contract/store.ts"
import type { ErrorCode, ErrorDetails } from "../../kernel/errors.ts"
import type { Bound, KeyCell } from "./keys.ts"
import type { Shape } from "./shape.ts"

/**
 * A commit as a flat list: its id, the number of organizations, the organizations, and its writes. A write begins with kind,
 * table and organization (an index into that list). A write with a document continues with id, `multi`, the keys and the
 * document's text. A change continues with id and a WireChange as JSON.
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

/** For a commit: a digit per write (1: created a document), or the error. */
export type WireOutcome = string | WireError

export type WriterRequest =
  /** Packed CommitCells of each commit (packed.ts). */
  | { readonly kind: "group"; readonly group: string }
  | { readonly kind: "expire"; readonly now: string }
  | { readonly kind: "probe" }
  /** Checkpoints the rest of the log. */
  | { readonly kind: "checkpoint" }

/** A request to the writer. The reply has the same number. */
export interface SentRequest {
  readonly seq: number
  readonly request: WriterRequest
}

/** Reason for an unusable file. */
export interface FileFault {
  readonly reason: "storage_corrupt" | "storage_missing"
  readonly message: string
}

/** Commits that the log contained earlier and has lost. */
export interface LostCommits {
  readonly groups: number
  /** Time of the last lost commit. */
  readonly at: string
  /** Path of a copy of the damaged log. undefined if the copy failed. */
  readonly log: string | undefined
}

export interface WriterReply {
  readonly seq: number
  /** In the first reply: commits that the log has lost. */
  readonly lost?: LostCommits | undefined
  /** For a group: a result per commit. */
  readonly results?: readonly WireOutcome[]
  /** For an expiry step: true if more documents are due. */
  readonly more?: boolean
  /** Set if the whole request failed. */
  readonly failure?: string
  /** With `failure`: the disk, or the maximum file size, is full. */
  readonly full?: boolean
  /** With `failure`: all further requests fail until an operator repairs the file. */
  readonly fault?: FileFault
}

export interface WireQuery {
  readonly table: string
  readonly organization: string
  /** Conditions for the documents, each with its bound values. Ids are in text form. */
  readonly narrow: readonly { readonly sql: string; readonly binds: readonly Bound[]; readonly ids?: true }[]
  /** True if a condition may exclude documents marked `multi`. */
  readonly narrowsKeys: boolean
  /** The exact filter. undefined if the conditions are exact. */
  readonly filter: Filter | undefined
  /** The conditions are exact for documents without the mark `multi`. */
  readonly exact: boolean
  /** SQL of each sort key. */
  readonly order: readonly { readonly key: string; readonly descends: boolean }[]
  /** The key has one of these values. An index has the documents of each value in the requested order. */
  readonly merge: { readonly key: string; readonly values: readonly Bound[] } | undefined
  /** Sorts the results instead of an index walk in that order. */
  readonly sorts: boolean
  /** SQL for the documents after a position in the order, and its bound values. */
  readonly after: { readonly sql: string; readonly binds: readonly Bound[] } | undefined
  readonly limit: number
  readonly count: boolean
  /** Omits documents whose text is not JSON. Set after an answer contained a damaged document. */
  readonly soundOnly?: boolean
  /** In milliseconds of process.hrtime, a clock shared by all threads. */
  readonly deadline: number
}

/** A look-up of a document by id. It is a small message without filter and order. */
export interface WireLookUp {
  /** The table. */
  readonly lookUp: string
  readonly organization: string
  readonly id: string
}

/** A request for the organizations with documents in a table. */
export interface WireOrganizations {
  readonly organizationsIn: string
}

export type WireRead = WireQuery | WireLookUp | WireOrganizations

/** Start data of a reader thread. */
export interface ReaderData {
  readonly file: string
  /** By table. */
  readonly shapes: Readonly<Record<string, Shape>>
}

/** Queries, or `more` for the rest of the last reply. */
export type ReaderRequest = readonly WireRead[] | "more"

/** A reply with a bounded size, because the main thread parses it in a single turn. */
export interface ReaderReply {
  /** For each query in order: JSON text of the list, a count, or an error. */
  readonly answers: readonly (string | number | WireError)[]
  /** The last answer continues in the next reply. */
  readonly isCut: boolean
  readonly hasMore: boolean
  /** Tables with omitted documents, because their text is not JSON. */
  readonly unreadable: readonly string[]
}
