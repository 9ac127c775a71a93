// The interface of a storage driver. The layers above (store.ts, commit.ts) are the same for every driver. They isolate
// organizations, check filters, group commits and stream results.
import type { CollectionSpec, Document } from "../contract/collection.ts"
import type { Commit, CommitResult, Filter, Scalar } from "../contract/store.ts"
import type { AppError } from "../kernel/errors.ts"

export interface DriverQuery {
  readonly collection: CollectionSpec
  /** Checked. The driver adds it to the filter. */
  readonly organization: string | undefined
  /** Checked against the documented subset of the port. */
  readonly filter: Filter
  /** A total order that ends with `id`. */
  readonly sort: readonly (readonly [path: string, direction: 1 | -1])[]
  readonly limit: number
  readonly after: readonly Scalar[] | undefined
  readonly deadlineMs: number
  /** Reads all documents at a single point in time. */
  readonly snapshot?: boolean
}

/** A commit after the driver's early preparation. */
export interface StagedCommit extends Commit {
  /** Approximate bytes in queues and groups. */
  readonly bytes: number
}

export interface StorageDriver {
  /** Opens the store and creates missing collections and indexes. Throws with all problems. */
  start(collections: readonly CollectionSpec[]): Promise<void>
  stop(): Promise<void>
  find(query: DriverQuery): Promise<Document[]>
  count(query: Omit<DriverQuery, "sort" | "after">): Promise<number>
  /** Returns the ids of the organizations with documents in the collection. */
  organizationsIn(collection: CollectionSpec): Promise<readonly string[]>
  /** Prepares a commit before its turn. `commitGroup` receives the result. Throws an AppError to refuse the commit. */
  stage?(commit: Commit): StagedCommit
  /**
   * Commits a group durably and returns a result per commit, in order. Sets `organization_id` of stored documents from the
   * write's organization. A failed commit does not affect the others. Rejects only with `unavailable`, if storage is down. No
   * result was then reported, and the whole group may be repeated.
   */
  commitGroup(commits: readonly Commit[]): Promise<readonly (CommitResult | AppError)[]>
  /** Resolves if a commit is possible now. */
  ready(): Promise<void>
  /** Maximum groups in progress at once. */
  readonly groupsInFlight: number
  /** True if groups are written in call order. Two groups in progress may then change the same document. */
  readonly keepsOrder?: boolean
}
