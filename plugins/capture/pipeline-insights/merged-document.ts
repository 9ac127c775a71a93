// Adds this node's counts to a document shared by all nodes.
import { AppError, changesOf, type Document, type FieldsOf, type Store, type UnitOfWork, type UnitsOfWork } from "#core"
import type { CollectionSpec } from "#core/engine"

export interface CountedDocument extends Document {
  /** Number of changes. */
  version: number
}

/** The merged fields. */
export type MergedFields<D extends CountedDocument> = FieldsOf<Omit<D, "version">>

export interface MergeDeps {
  readonly store: Store
  readonly works: UnitsOfWork
}

const temporary: ReadonlySet<string> = new Set(["unavailable", "deadline_exceeded", "aborted", "already_exists"])

/** Returns false for an error that would fail every retry of the same counts. */
export function mayPassLater(error: unknown): boolean {
  return error instanceof AppError && temporary.has(error.code)
}

/** Reads, merges and writes, and retries after a conflict. `also` stages further writes of the same commit. */
export async function mergeDocument<D extends CountedDocument>(
  { store, works }: MergeDeps,
  collection: CollectionSpec<D, "organization">,
  { organization, id }: { readonly organization: string; readonly id: string },
  merge: (stored: D | undefined) => MergedFields<D>,
  also?: (work: UnitOfWork, merged: MergedFields<D>) => void,
): Promise<void> {
  await works.retryConflicts(async (work) => {
    const stored = await store.open(collection, organization).get(id)
    const merged = merge(stored)
    const staged = work.in(collection, organization)
    if (!stored) staged.insert({ ...merged, id, version: 1 } as unknown as D)
    else staged.update(id, { $set: changesOf({ ...merged, version: stored.version + 1 }) }, { where: { version: stored.version } })
    also?.(work, merged)
  })
}

/** Compares times as text. */
export function later(a: string, b: string): string {
  return [a, b].sort()[1] ?? a
}

export function earlier(a: string, b: string): string {
  return [a, b].sort()[0] ?? a
}
