// Ends a reservation whose event was not committed: first the document with its bytes, then the objects.
import { isConflict, type Store, type UnitsOfWork } from "#core"
import type { Buckets } from "../../data/buckets/index.ts"
import { EventFilesCollection } from "./collections.ts"
import { removeDocument } from "./usage.ts"

interface ReleaseDeps {
  readonly store: Store
  readonly works: UnitsOfWork
  readonly buckets: Buckets
}

/** Returns false if the event was committed meanwhile: its files stay. */
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
      // Another release or the event itself was first.
      if (!isConflict(error)) throw error
      if (await collection.get(executionId)) return false
    }
  }
  const bucket = buckets.open(organization)
  for (const key of keys) await bucket.remove(key)
  return true
}
