// Removes the files of the events that wrote the rows of an erased person.
import { type Store, token, type UnitOfWork } from "#core"
import type { Buckets } from "../buckets/index.ts"
import { EventFilesCollection } from "./collections.ts"
import { countBytes } from "./usage.ts"

/** Removes the objects at once, and stages the end of what refers to them. */
export type EventFileErasure = (work: UnitOfWork, organization: string, rowIds: readonly string[]) => Promise<void>

export const EventFileErasure = token<EventFileErasure>("EventFileErasure")

export function eventFileErasure({ store, buckets }: { readonly store: Store; readonly buckets: Buckets }): EventFileErasure {
  return async (work, organization, rowIds) => {
    const collection = store.open(EventFilesCollection, organization)
    const done = new Set<string>()
    for (const rowId of new Set(rowIds)) {
      for (const { id, files, bytes, pipeline_id } of await collection.find({ row_ids: rowId }, { limit: 1_000 })) {
        if (done.has(id)) continue
        done.add(id)
        for (const { key } of files) await buckets.open(organization).remove(key)
        work.in(EventFilesCollection, organization).remove(id, { optional: true })
        countBytes(work, organization, pipeline_id, -bytes)
      }
    }
  }
}
