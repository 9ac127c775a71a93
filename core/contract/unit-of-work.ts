// A unit of work: what a call, an event or a job wants to leave behind, gathered while it runs and committed at once.
// Nothing it holds is visible to anyone before the commit, and nothing of it stays when the commit fails.
import { token } from "../kernel/di.ts"
import { AppError } from "../kernel/errors.ts"
import type { CollectionSpec, Document } from "./collection.ts"
import type { Commit, CommitResult, Filter, Store, Update, Write } from "./store.ts"

/** Writes staged for one collection (inside one organization, where it has them). */
export interface StagedCollection<D extends Document> {
  insert(doc: D, options?: { ifPresent?: "fail" | "keep" }): void
  /** Fails the commit as `aborted` where the document no longer matches `where` (such as `{ revision: 3 }`). */
  update(id: string, update: Update, options?: { where?: Filter; optional?: boolean; upsert?: boolean }): void
  remove(id: string, options?: { where?: Filter; optional?: boolean }): void
}

/** A unit of work: what a call, an event or a job wants to leave behind, committed at once or not at all. */
export interface UnitOfWork {
  readonly id: string
  in<D extends Document>(spec: CollectionSpec<D, "organization">, organization: string): StagedCollection<D>
  in<D extends Document>(spec: CollectionSpec<D, "global">): StagedCollection<D>
  write(write: Write): void
  readonly writes: readonly Write[]
  /** Runs once the commit is on disk and before the caller is answered. Its failure does not undo the commit. */
  afterCommit(run: (result: CommitResult) => Promise<void> | void): void
}

/** A unit of work that its creator commits. */
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

  /** Stages all of it in another unit of work, that has nothing staged yet, to be committed with that one. */
  moveTo(work: UnitOfWork): void {
    for (const write of this.writes) work.write(write)
    for (const run of this.#after) work.afterCommit(run)
  }

  /** Whether anything is to be run after the commit. */
  get hasHooks(): boolean {
    return this.#after.length > 0
  }

  get commit(): Commit {
    return { id: this.id, writes: this.writes }
  }

  /** Commits it and runs what follows. Throws what refused the commit, or what `committed` throws. */
  async commitTo(store: Pick<Store, "commit">): Promise<void> {
    await this.committed(await store.commit(this.commit))
  }

  /** To be called once, when the commit resolved. Every hook runs, even after one failed; throws the first failure. */
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

/** Runs `stage` in a fresh unit of work and commits what it staged, for code outside a call: start-up, jobs, sockets. */
export interface UnitsOfWork {
  /** Works that have begun and are not committed yet. */
  readonly inProgress: number
  run<T>(stage: (work: UnitOfWork) => Promise<T> | T): Promise<T>
  /**
   * Runs `stage` and commits. If a concurrent commit changed the same documents, runs `stage` again in a fresh unit of work.
   * `stage` reads the documents that it changes. It has no other effects. Throws `not_found` if a document is missing twice.
   */
  retryConflicts<T>(stage: (work: UnitOfWork) => Promise<T> | T): Promise<T>
}

export const UnitsOfWork = token<UnitsOfWork>("UnitsOfWork")
