// Removes the files of an event: when its payload expires, or an hour after an upload whose event was not committed.
import { z } from "zod"
import { Clock, defineJob, jobRef, Postponed, Store, UnitsOfWork } from "#core"
import { Buckets } from "../../data/buckets/index.ts"
import { EventFilesCollection } from "./collections.ts"
import { releaseReserved } from "./release.ts"
import { removeDocument } from "./usage.ts"

export const removeRef = jobRef(
  "event_files.remove",
  z.object({
    organization: z.string(),
    execution_id: z.string(),
    keys: z.array(z.string()),
    /** Milliseconds since the epoch. */
    remove_at: z.number(),
  }),
)

export const removeJob = defineJob(removeRef, {
  summary: "Removes the files of an event once its payload expires.",
  inject: { store: Store, works: UnitsOfWork, buckets: Buckets, clock: Clock },
  async run({ payload: { organization, execution_id, keys, remove_at }, deps, work }) {
    if (await releaseReserved(deps, organization, execution_id, keys)) return
    const { store, buckets, clock } = deps
    if (clock.now() < remove_at) throw new Postponed(remove_at - clock.now())
    const bucket = buckets.open(organization)
    for (const key of keys) await bucket.remove(key)
    const stored = await store.open(EventFilesCollection, organization).get(execution_id)
    if (stored) removeDocument(work, organization, stored)
  },
})
