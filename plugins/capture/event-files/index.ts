// Files of forms: stored in the bucket, referenced by events, downloaded by link, removed with the payload of the event.
import { Clock, type Deps, definePlugin, isConflict, JobQueue, Settings, Store, token, UnitsOfWork } from "#core"
import { EventFiles } from "#core/engine"
import { Buckets } from "../../data/buckets/index.ts"
import { EventFilesCollection, FileUsageCollection, type StoredEventFiles } from "./collections.ts"
import { fileKeeper } from "./keeper.ts"
import { listEventFiles } from "./operations.ts"
import { reasons } from "./reasons.ts"
import { removeJob } from "./removal.ts"
import { EventFileSettings, removeDocument } from "./usage.ts"

/** Removes the objects at once, then the documents that refer to them. */
export type EventFileErasure = (organization: string, rowIds: readonly string[]) => Promise<void>

/** Removes the files of the events that wrote the rows of an erased person. */
export const EventFileErasure = token<EventFileErasure>("EventFileErasure")

const eventFileErasureNeeds = { store: Store, works: UnitsOfWork, buckets: Buckets }

const pageSize = 1_000

function eventFileErasure({ store, works, buckets }: Deps<typeof eventFileErasureNeeds>): EventFileErasure {
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
      // A separate commit: if the removal job runs first, the bytes are subtracted once.
      await works.run((work) => removeDocument(work, organization, stored))
    } catch (error) {
      if (!isConflict(error)) throw error
    }
  }
}

export default definePlugin({
  id: "event-files",
  reasons,
  needs: ["buckets"],
  config: EventFileSettings,
  register(registrar, settings) {
    registrar.collections(EventFilesCollection, FileUsageCollection)
    registrar.jobs(removeJob)
    registrar.operations(listEventFiles)
    registrar.provide(EventFileErasure, {
      inject: eventFileErasureNeeds,
      create: (deps) => eventFileErasure(deps),
    })
    registrar.run("files of forms", {
      inject: { files: EventFiles, store: Store, works: UnitsOfWork, queue: JobQueue, buckets: Buckets, clock: Clock, config: Settings },
      create: ({ files, config, ...services }) =>
        files.use(fileKeeper({ ...services, settings, payloadsDays: config.retention.payloads_days })),
    })
  },
})
