// A unit of work: the writes of a call, an event or a job, gathered and committed together. The writes become visible with the
// commit. A failed commit leaves no writes.
import { token } from "../kernel/di.ts"
import { AppError } from "../kernel/errors.ts"
import type { CollectionSpec, Document } from "./collection.ts"
import type { Commit, CommitResult, Filter, Store, Update, Write } from "./store.ts"

/** Staged writes of one collection. In a collection with organizations, they belong to one organization. */
export interface StagedCollection<D extends Document> {
  insert(doc: D, options?: { ifPresent?: "fail" | "keep" }): void
  /** The commit fails with `aborted` if the document does not match `where` (such as `{ revision: 3 }`). */
  update(id: string, update: Update, options?: { where?: Filter; optional?: boolean; upsert?: boolean }): void
  remove(id: string, options?: { where?: Filter; optional?: boolean }): void
}

/** A unit of work: the writes of a call, an event or a job, committed atomically. */
export interface UnitOfWork {
  readonly id: string
  in<D extends Document>(spec: CollectionSpec<D, "organization">, organization: string): StagedCollection<D>
  in<D extends Document>(spec: CollectionSpec<D, "global">): StagedCollection<D>
  write(write: Write): void
  readonly writes: readonly Write[]
  /** Runs after the commit is on disk and before the answer. A failure does not undo the commit. */
  afterCommit(run: (result: CommitResult) => Promise<void> | void): void
}

/** A unit of work committed by its creator. */
export class StagedWork implements UnitOfWork {
  readonly id: string
  readonly writes: Write[] = []
  readonly #after: ((result: CommitResult) => Promise<void> | void)[] = []

  constructor(id: string) {
    this.id = id
  }

  in<D extends Document>(collection: CollectionSpec<D>, organization?: string): StagedCollection<D> {
    const target = organization === undefined ? { collection } : { collection, organization }
    return {
      insert: (doc, options) => this.write({ kind: "insert", ...target, doc, ...options }),
      update: (id, update, options) => this.write({ kind: "update", ...target, id, update, ...options }),
      remove: (id, options) => this.write({ kind: "remove", ...target, id, ...options }),
    }
  }

  write(write: Write): void {
    this.writes.push(write)
  }

  afterCommit(run: (result: CommitResult) => Promise<void> | void): void {
    this.#after.push(run)
  }

  /** Moves all writes and hooks to another unit of work without staged writes, to be committed there. */
  moveTo(work: UnitOfWork): void {
    for (const write of this.writes) work.write(write)
    for (const run of this.#after) work.afterCommit(run)
  }

  /** Returns true if hooks run after the commit. */
  get hasHooks(): boolean {
    return this.#after.length > 0
  }

  get commit(): Commit {
    return { id: this.id, writes: this.writes }
  }

  /** Commits the work and runs its hooks. Throws the error of the commit or of `committed`. */
  async commitTo(store: Pick<Store, "commit">): Promise<void> {
    await this.committed(await store.commit(this.commit))
  }

  /** Runs every hook after the commit, even after a failed hook. Throws the first failure. Call this once. */
  async committed(result: CommitResult): Promise<void> {
    let failure: { error: unknown } | undefined
    for (const run of this.#after) {
      try {
        await run(result)
      } catch (error) {
        failure ??= { error }
      }
    }
    if (failure) throw failure.error
  }
}

/** Returns true if a concurrent commit won: a changed, a new or a removed document refused this one. */
export function isConflict(error: unknown): error is AppError {
  return error instanceof AppError && (error.code === "aborted" || error.code === "already_exists" || error.code === "not_found")
}

/** Runs `stage` in a fresh unit of work and commits it. Suits code outside a call: start-up, jobs, sockets. */
export interface UnitsOfWork {
  /** Units of work without a commit yet. */
  readonly inProgress: number
  run<T>(stage: (work: UnitOfWork) => Promise<T> | T): Promise<T>
  /**
   * Runs `stage` and commits. If a concurrent commit changed the same documents, runs `stage` again in a fresh unit of work.
   * `stage` reads the documents it changes and has no other effects. Throws `not_found` if a document is missing twice.
   */
  retryConflicts<T>(stage: (work: UnitOfWork) => Promise<T> | T): Promise<T>
}

export const UnitsOfWork = token<UnitsOfWork>("UnitsOfWork")
