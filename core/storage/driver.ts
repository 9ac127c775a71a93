// What a storage driver does, and no more: organization walls, filter checks, group commit and streaming stand above it
// (store.ts, commit.ts), the same for every driver.
import type { CollectionSpec, Document } from "../contract/collection.ts"
import type { Commit, CommitResult, Filter, Scalar } from "../contract/store.ts"
import type { AppError } from "../kernel/errors.ts"

export interface DriverQuery {
  readonly collection: CollectionSpec
  /** Checked; the driver adds it to the filter. */
  readonly organization: string | undefined
  /** Checked: only what the port documents. */
  readonly filter: Filter
  /** Total order: ends with `id`. */
  readonly sort: readonly (readonly [path: string, direction: 1 | -1])[]
  readonly limit: number
  readonly after: readonly Scalar[] | undefined
  readonly deadlineMs: number
  /** All documents as they were at one instant. */
  readonly snapshot?: boolean
}

/** A commit that a driver has looked at before its turn came. */
export interface StagedCommit extends Commit {
  /** What it takes in queues and groups, about. */
  readonly bytes: number
}

export interface StorageDriver {
  /** Opens, creates collections and indexes that are missing; throws with every problem it found. */
  start(collections: readonly CollectionSpec[]): Promise<void>
  stop(): Promise<void>
  find(query: DriverQuery): Promise<Document[]>
  count(query: Omit<DriverQuery, "sort" | "after">): Promise<number>
  /** Ids of the organizations that have documents in the collection. */
  organizationsIn(collection: CollectionSpec): Promise<readonly string[]>
  /** Does for a commit what need not wait for its turn; `commitGroup` is then given what this returned. Throws what refuses it (AppError). */
  stage?(commit: Commit): StagedCommit
  /** Sets `organization_id` of what it stores from the write's organization. Commits a group: durable when it resolves, one result for each commit, in order. One that fails takes no neighbour along. Rejects only when storage is down (`unavailable`); then nothing of the group was reported and all of it may be repeated. */
  commitGroup(commits: readonly Commit[]): Promise<readonly (CommitResult | AppError)[]>
  /** Resolves when a commit could be made now. */
  ready(): Promise<void>
  /** Groups that may be in progress at once. */
  readonly groupsInFlight: number
  /** Groups are written in the order in which they were given, so that two in progress may touch the same document. */
  readonly keepsOrder?: boolean
}
