// Adds what this node counted to a document that every node adds to.
import { AppError, type Document, type Store, type UnitOfWork, type UnitsOfWork } from "#core"
import type { CollectionSpec } from "#core/engine"

export interface CountedDocument extends Document {
  /** Of its changes. */
  version: number
}

export interface MergeDeps {
  readonly store: Store
  readonly works: UnitsOfWork
}

const maxTries = 8

/** Reads, merges and writes, again where another node was faster. `also` stages what belongs to the same commit. */
export async function mergeDocument<D extends CountedDocument>(
  { store, works }: MergeDeps,
  collection: CollectionSpec<D, "organization">,
  { organization, id }: { readonly organization: string; readonly id: string },
  merge: (stored: D | undefined) => Omit<D, "id" | "version" | "organization_id">,
  also?: (work: UnitOfWork, merged: Omit<D, "id" | "version" | "organization_id">) => void,
): Promise<void> {
  for (let tries = 1; ; tries++) {
    const stored = await store.open(collection, organization).get(id)
    const merged = merge(stored)
    try {
      await works.run((work) => {
        const staged = work.in(collection, organization)
        if (!stored) staged.insert({ ...merged, id, version: 1 } as unknown as D)
        else staged.update(id, { $set: { ...merged, version: stored.version + 1 } as never }, { where: { version: stored.version } })
        also?.(work, merged)
      })
      return
    } catch (error) {
      const lost = error instanceof AppError && (error.code === "aborted" || error.code === "already_exists")
      if (!lost || tries === maxTries) throw error
    }
  }
}
