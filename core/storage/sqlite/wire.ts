// What passes between the main thread and the threads that hold the file. A group is one flat list of strings and
// numbers: copying encoded documents between threads costs a third of copying the objects themselves.
import type { CollectionSpec } from "../../contract/collection.ts"
import type { Commit, Filter, MergeWrite, Update, Write } from "../../contract/store.ts"
import type { ErrorCode, ErrorDetails } from "../../kernel/errors.ts"
import { AppError } from "../../kernel/errors.ts"
import { type Bound, multiOf } from "./schema.ts"

export type Cell = string | number | null

/** Cells of one write: kind, table, organization, id, and two that depend on the kind. */
export const cellsPerWrite = 6
export const writeKinds = { insert: 0, keep: 1, update: 2, remove: 3, merge: 4 } as const

/** The fourth cell of an update or removal, as JSON. */
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

export type WriterRequest =
  | { readonly kind: "group"; readonly cells: readonly Cell[]; readonly commits: number }
  | { readonly kind: "expire"; readonly now: string }
  | { readonly kind: "probe" }

export interface WriterReply {
  readonly seq: number
  /** Of a group: for each commit a digit a write (1: made a document), or what refused it. */
  readonly results?: readonly (string | WireError)[]
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

export interface ReaderReply {
  /** For each query: JSON text of the documents, a count, or what went wrong. */
  readonly answers: readonly (string | number | WireError)[]
}

/** Where a collection stands among the tables, and which of its paths are indexed. */
export interface TablePlace {
  readonly spec: CollectionSpec
  readonly index: number
  readonly paths: readonly (readonly string[])[]
}

export interface EncodedGroup {
  readonly cells: readonly Cell[]
  /** Commits in the cells; the others are among the refused. */
  readonly commits: number
  /** By position in the group: those that JSON cannot hold. */
  readonly refused: ReadonlyMap<number, AppError>
}

export function encodeGroup(commits: readonly Commit[], places: ReadonlyMap<string, TablePlace>): EncodedGroup {
  const cells: Cell[] = []
  const refused = new Map<number, AppError>()
  for (const [index, commit] of commits.entries()) {
    const start = cells.length
    try {
      encodeCommit(cells, commit, places)
    } catch (error) {
      cells.length = start
      refused.set(index, unencodable(commit, error))
    }
  }
  return { cells, commits: commits.length - refused.size, refused }
}

function encodeCommit(cells: Cell[], commit: Commit, places: ReadonlyMap<string, TablePlace>): void {
  cells.push(commit.id, commit.writes.length)
  for (const write of commit.writes) {
    const place = places.get(write.collection.name)
    if (!place) throw new AppError("failed_precondition", `Collection "${write.collection.name}" is not open.`)
    encodeWrite(cells, write, place)
  }
}

function unencodable(commit: Commit, error: unknown): AppError {
  if (error instanceof AppError) return error
  const message = `Commit ${commit.id} holds a value that is not JSON: ${error instanceof Error ? error.message : String(error)}.`
  return new AppError("invalid_argument", message, { reason: "not_json" }, { cause: error })
}

function encodeWrite(cells: Cell[], write: Write, { index, paths }: TablePlace): void {
  const organization = write.organization ?? ""
  switch (write.kind) {
    case "insert":
      cells.push(write.ifPresent === "keep" ? writeKinds.keep : writeKinds.insert, index, organization, write.doc.id)
      cells.push(encodeDocument(write), multiOf(paths, write.doc))
      return
    case "merge":
      cells.push(writeKinds.merge, index, organization, write.doc.id, encodeDocument(write), write.position)
      return
    case "update": {
      const { update, where, optional, upsert } = write
      const change: WireChange = { update, where, optional, upsert }
      cells.push(writeKinds.update, index, organization, write.id, JSON.stringify(change), null)
      return
    }
    case "remove": {
      const change: WireChange = { where: write.where, optional: write.optional }
      cells.push(writeKinds.remove, index, organization, write.id, JSON.stringify(change), null)
    }
  }
}

/** JSON of the document with its organization in it. */
function encodeDocument({ doc, organization }: (Write & { kind: "insert" }) | MergeWrite): string {
  const text = JSON.stringify(doc)
  if (organization === undefined || doc.organization_id !== undefined) return text
  return `{"organization_id":${JSON.stringify(organization)},${text.slice(1)}`
}
