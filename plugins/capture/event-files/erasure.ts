// Removes the files of the events that wrote the rows of an erased person.
import { type Deps, isConflict, Store, token, UnitsOfWork } from "#core"
import { Buckets } from "../../data/buckets/index.ts"
import { EventFilesCollection, type StoredEventFiles } from "./collections.ts"
import { removeDocument } from "./usage.ts"

/** Removes the objects at once, and then what refers to them. */
export type EventFileErasure = (organization: string, rowIds: readonly string[]) => Promise<void>

export const EventFileErasure = token<EventFileErasure>("EventFileErasure")

export const eventFileErasureNeeds = { store: Store, works: UnitsOfWork, buckets: Buckets }

const pageSize = 1_000

export function eventFileErasure({ store, works, buckets }: Deps<typeof eventFileErasureNeeds>): EventFileErasure {
  return async (organization, rowIds) => {
    const collection = store.open(EventFilesCollection, organization)
    for (const rowId of new Set(rowIds)) {
      let found: StoredEventFiles[]
      do {
        found = await collection.find({ row_ids: rowId }, { limit: pageSize })
        for (const stored of found) await remove(organization, stored)
      } while (found.length === pageSize)
    }
  }

  async function remove(organization: string, stored: StoredEventFiles): Promise<void> {
    for (const { key } of stored.files) await buckets.open(organization).remove(key)
    try {
      // A commit of its own: if the job of the files comes first, the bytes are counted once.
      await works.run((work) => removeDocument(work, organization, stored))
    } catch (error) {
      if (!isConflict(error)) throw error
    }
  }
}
