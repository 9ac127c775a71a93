// Releases a reservation of an uncommitted event: first the document with its bytes, then the objects.

import { z } from "zod"
import { Clock, defineJob, isConflict, jobRef, Postponed, Store, UnitsOfWork } from "#core"
import { Buckets } from "../../data/buckets/index.ts"
import { EventFilesCollection } from "./collections.ts"
import { removeDocument } from "./usage.ts"

interface ReleaseDeps {
  readonly store: Store
  readonly works: UnitsOfWork
  readonly buckets: Buckets
}

/** Returns false if the event was committed in the meantime. Its files remain. */
export async function releaseReserved(
  { store, works, buckets }: ReleaseDeps,
  organization: string,
  executionId: string,
  keys: readonly string[],
): Promise<boolean> {
  const collection = store.open(EventFilesCollection, organization)
  const reserved = await collection.get(executionId)
  if (reserved) {
    if (reserved.state !== "reserved") return false
    try {
      await works.run((work) => removeDocument(work, organization, reserved, { where: { state: "reserved" } }))
    } catch (error) {
      // Another release or the event's commit came first.
      if (!isConflict(error)) throw error
      if (await collection.get(executionId)) return false
    }
  }
  const bucket = buckets.open(organization)
  for (const key of keys) await bucket.remove(key)
  return true
}

/** Removes the files of an event when its payload expires. An upload without a committed event is removed after an hour. */
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
