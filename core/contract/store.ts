// The storage port. Reads use a collection handle. Every write uses `commit`: atomic, and durable when it resolves. Filters and
// updates are a subset of MongoDB's documents. Anything outside the subset is refused with `invalid_argument`.
import { token } from "../kernel/di.ts"
import type { CollectionSpec, Document, Json } from "./collection.ts"

export type Scalar = null | boolean | number | string

export interface Conditions {
  $eq?: Json
  $ne?: Json
  $gt?: Scalar
  $gte?: Scalar
  $lt?: Scalar
  $lte?: Scalar
  $in?: readonly Scalar[]
  $nin?: readonly Scalar[]
  $exists?: boolean
  $not?: Conditions
}

/** Keys are dotted paths, or `$and` and `$or` with a list of filters. A plain value means equality; null also matches absent. */
export interface Filter {
  $and?: readonly Filter[]
  $or?: readonly Filter[]
  [path: string]: Json | Conditions | readonly Filter[] | undefined
}

type FixedField = "id" | "_id" | "organization_id"
/** Immutable fields of every document. */
type WithoutFixed = { readonly [Field in FixedField]?: never }

/** New values by dotted path. */
export type Changes = Record<string, Json> & WithoutFixed

/** The fields of a document that updates may change. */
export type FieldsOf<D extends object> = Omit<D, FixedField> & WithoutFixed

/** Returns fields as changes. An argument with an id or an organization does not compile. */
export function changesOf<T extends object>(fields: T & WithoutFixed): Changes {
  return fields as Changes
}

/** Keys of each operator are dotted paths. */
export interface Update {
  $set?: Changes
  $unset?: Record<string, true>
  $inc?: Record<string, number>
  $push?: Record<string, Json>
  $addToSet?: Record<string, Json>
  $pull?: Record<string, Json>
  /** Only with `upsert`. */
  $setOnInsert?: Changes
}

/** Fields to sort by, in order: 1 ascending, -1 descending. */
export type Sort = Readonly<Record<string, 1 | -1>>

/** The order, size and start of a read. */
export interface FindOptions {
  /** `id` in the last direction is appended if absent, so the order is total. */
  sort?: Sort
  limit?: number
  /** Values of the sort fields of the last document seen, `id` last. The read continues after them (keyset paging). */
  after?: readonly Scalar[]
  /** Timeout of the read in milliseconds; it fails with `deadline_exceeded`. */
  deadlineMs?: number
  /** Reads all documents as of one instant. Otherwise a commit during the read may be visible in only some documents. */
  snapshot?: boolean
}

/** Reads one collection. In a collection with organizations, a handle reads one organization. */
export interface Collection<D extends Document> {
  get(id: string): Promise<D | undefined>
  find(filter: Filter, options?: FindOptions): Promise<D[]>
  first(filter: Filter, options?: Omit<FindOptions, "limit">): Promise<D | undefined>
  /** Counts at most `limit` documents. */
  count(filter: Filter, options?: { limit?: number; deadlineMs?: number }): Promise<number>
  /** Returns every match in order, fetched in pages. There is no cursor or lock between pages. */
  stream(filter: Filter, options?: Omit<FindOptions, "after">): AsyncIterable<D>
}

interface Target {
  readonly collection: CollectionSpec
  /** Set exactly when the collection's scope is `organization`. */
  readonly organization?: string
}

/**
 * One change of one document.
 * - `insert`: `ifPresent` handles a taken `id`. `fail` (default) refuses the commit with `already_exists`. `keep` leaves the
 *   stored document and succeeds.
 * - `update`: changes the document with `id` if it matches `where`. Without a match the commit fails with `aborted` (`not_found`
 *   for an unknown id), unless `optional`. With `upsert` a missing document is made from `$set` and `$setOnInsert`.
 * - `remove`: deletes the document with `id`. `optional` as for `update`.
 * - `newest_wins`: merges columns; the newest value of each column wins. See NewestWinsWrite.
 * A violated unique index refuses the commit with `already_exists`, details `{ collection, fields }`.
 */
export type Write =
  | (Target & { readonly kind: "insert"; readonly doc: Document; readonly ifPresent?: "fail" | "keep" })
  | (Target & {
      readonly kind: "update"
      readonly id: string
      readonly update: Update
      readonly where?: Filter
      readonly optional?: boolean
      readonly upsert?: boolean
    })
  | (Target & { readonly kind: "remove"; readonly id: string; readonly where?: Filter; readonly optional?: boolean })
  | NewestWinsWrite

/**
 * Writes columns of a keyed row. The newest value of each column wins, in any order of arrival. The stored document has
 * `position` (of its last writer) and `column_positions` (of columns with an older last writer). A column changes only if the new
 * `position` is greater, as text, than its last one. A missing document is made from `doc` with `doc.values`.
 */
export interface NewestWinsWrite extends Target {
  readonly kind: "newest_wins"
  /** The document to insert if absent: `id`, the fixed fields, `values`, `created_at`, `updated_at`. */
  readonly doc: Document & {
    readonly values: Record<string, Json>
    readonly created_at: string
    readonly updated_at: string
  }
  /** Compared as text: received_at, then the execution id. */
  readonly position: string
}

export interface Commit {
  /** Makes the commit idempotent. A repeat of a successful commit with the same id changes no document. */
  readonly id: string
  readonly writes: readonly Write[]
}

export interface CommitResult {
  /** For each write: true if it created a document. */
  readonly created: readonly boolean[]
}

/** The document store: collections for reading, and one commit for all writes. */
export interface Store {
  /** Opens a collection for reading. Collections of organizations require an id; global collections refuse it. */
  open<D extends Document>(spec: CollectionSpec<D, "organization">, organization: string): Collection<D>
  open<D extends Document>(spec: CollectionSpec<D, "global">): Collection<D>
  /**
   * Commits all writes or none. Durable when it resolves. Concurrent commits may share a disk write. Throws AppError;
   * `unavailable` if storage is down.
   */
  commit(commit: Commit): Promise<CommitResult>
  /** Resolves if a commit is possible now. Throws `unavailable` otherwise. */
  ready(): Promise<void>
}

export const Store = token<Store>("Store")
