// Leases as documents of the store: an update that only the holder, or anyone after the end, gets through.
import type { Leases } from "../contract/lease.ts"
import type { Store } from "../contract/store.ts"
import { type Clock, timestamp } from "../kernel/clock.ts"
import { AppError } from "../kernel/errors.ts"
import type { Ids } from "../kernel/ids.ts"
import { leases } from "./collections.ts"

export function createLeases({ store, clock, ids, holder }: { store: Store; clock: Clock; ids: Ids; holder: string }): Leases {
  const lease = { collection: leases, kind: "update" } as const
  return {
    async claim(name, milliseconds) {
      const now = clock.now()
      const where = { $or: [{ holder }, { until: { $lte: timestamp(now) } }] }
      const until = timestamp(now + milliseconds)
      const update = { $set: { holder, until, expires_at: timestamp(now + milliseconds + 86_400_000) } }
      try {
        await store.commit({ id: ids.uuid(), writes: [{ ...lease, id: name, where, update, upsert: true }] })
        return true
      } catch (error) {
        if (error instanceof AppError && error.code === "aborted") return false
        throw error
      }
    },
    async release(name) {
      await store.commit({
        id: ids.uuid(),
        writes: [{ kind: "remove", collection: leases, id: name, where: { holder }, optional: true }],
      })
    },
  }
}
