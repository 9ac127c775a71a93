// The storage port. Reads go through a collection handle; every write goes through `commit`, which is all or
// nothing and durable when it resolves. Filters and updates are a subset of MongoDB's own documents; what is outside
// the subset is `invalid_argument`, never ignored.
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

/** Keys are dotted paths, or `$and` and `$or` with a list of filters. A plain value means equality; null matches absent too. */
export interface Filter {
  $and?: readonly Filter[]
  $or?: readonly Filter[]
  [path: string]: Json | Conditions | readonly Filter[] | undefined
}

type FixedField = "id" | "_id" | "organization_id"
/** Fields that no document changes. */
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

/** Fields to sort by, in order: 1 up, -1 down. */
export type Sort = Readonly<Record<string, 1 | -1>>

/** The order of a read, how much of it, and from where. */
export interface FindOptions {
  /** Ends with `id` in the last direction, added when absent, so that the order is total. */
  sort?: Sort
  limit?: number
  /** Values of the sort fields of the last document seen, `id` last: what follows it is returned (keyset paging). */
  after?: readonly Scalar[]
  /** Milliseconds after which the read is given up as `deadline_exceeded`. */
  deadlineMs?: number
  /** All documents as they were at one instant. Without it, a commit made during the read may show in some of them alone. */
  snapshot?: boolean
}

/** Reads of one collection, inside one organization where the collection has them. */
export interface Collection<D extends Document> {
  get(id: string): Promise<D | undefined>
  find(filter: Filter, options?: FindOptions): Promise<D[]>
  first(filter: Filter, options?: Omit<FindOptions, "limit">): Promise<D | undefined>
  /** Counts at most `limit` documents. */
  count(filter: Filter, options?: { limit?: number; deadlineMs?: number }): Promise<number>
  /** Every match in the order asked for, fetched in pages; holds no cursor or lock between them. */
  stream(filter: Filter, options?: Omit<FindOptions, "after">): AsyncIterable<D>
}

interface Target {
  readonly collection: CollectionSpec
  /** Set exactly when the collection's scope is `organization`. */
  readonly organization?: string
}

/**
 * One change of one document.
 * - `insert`: `ifPresent` says what a taken `id` means: `fail` (default) refuses the commit as `already_exists`; `keep` leaves the stored one and counts as done.
 * - `update`: of the document with `id` that also matches `where`; none is `aborted` (or `not_found` where no such id), unless `optional`. With `upsert` a missing document is made from equality in `$set` and `$setOnInsert`.
 * - `remove`: of `id`, `optional` likewise.
 * - `newest_wins`: merges columns, the newest value of each; see NewestWinsWrite.
 * A write that breaks a unique index refuses its commit as `already_exists`, details `{ collection, fields }`.
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
 * Writes columns of a keyed row so that the newest value of each wins in any order of arrival.
 * The stored document keeps `position` (of its last writer) and `column_positions` (columns whose last writer was an older one).
 * A column is changed only where `position` is greater, as text, than the one it was last written at. A missing
 * document is made from `doc` with `doc.values`.
 */
export interface NewestWinsWrite extends Target {
  readonly kind: "newest_wins"
  /** As inserted when absent: `id`, the fixed fields, `values`, `created_at`, `updated_at`. */
  readonly doc: Document & {
    readonly values: Record<string, Json>
    readonly created_at: string
    readonly updated_at: string
  }
  /** Comparable as text: received_at, then the execution id. */
  readonly position: string
}

export interface Commit {
  /** Idempotency of the commit as a whole: repeating one with the same id that went through changes nothing. */
  readonly id: string
  readonly writes: readonly Write[]
}

export interface CommitResult {
  /** For each write: whether it made a document that was not there before. */
  readonly created: readonly boolean[]
}

/** Where documents are kept: collections to read from, and one commit for all that is to be written. */
export interface Store {
  /** Opens a collection for reading. An organization's collection needs its id; a global one refuses it. */
  open<D extends Document>(spec: CollectionSpec<D, "organization">, organization: string): Collection<D>
  open<D extends Document>(spec: CollectionSpec<D, "global">): Collection<D>
  /** All or nothing, on disk when it resolves, merged with concurrent commits into one. Throws AppError; `unavailable` when storage is down. */
  commit(commit: Commit): Promise<CommitResult>
  /** Resolves when a commit could be made now; throws `unavailable` otherwise. */
  ready(): Promise<void>
}

export const Store = token<Store>("Store")
