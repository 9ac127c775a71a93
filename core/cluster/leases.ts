// Leases as documents of the store. An update succeeds only for the holder, or for any node after the lease has ended.
// The holder is one process for its whole life. The lease of an ended process is free.
import type { Leases } from "../contract/cluster.ts"
import type { Store } from "../contract/store.ts"
import { type Clock, timestamp } from "../kernel/clock.ts"
import { AppError } from "../kernel/errors.ts"
import type { Ids } from "../kernel/ids.ts"
import type { Logger } from "../kernel/log.ts"
import { leases, nodes } from "./collections.ts"

export interface LeasesOptions {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  /** The id of this process. */
  readonly holder: string
  /** Returns true if the process has ended. Without this function, a lease lasts until its end time. */
  readonly hasEnded?: (holder: string) => Promise<boolean>
}

/** Maximum difference between two correct clocks. A lease with a later end was claimed by a clock that was ahead. */
const maxSkewMs = 60_000
const keptMs = 86_400_000

export function createLeases({ store, clock, ids, holder, hasEnded }: LeasesOptions): Leases {
  async function claimed(name: string, milliseconds: number, ended?: string): Promise<boolean> {
    const now = clock.now()
    const until = timestamp(now + milliseconds)
    const where = {
      $or: [
        { holder },
        { until: { $lte: timestamp(now) } },
        { until: { $gt: timestamp(now + milliseconds + maxSkewMs) } },
        ...(ended === undefined ? [] : [{ holder: ended }]),
      ],
    }
    const update = { $set: { holder, until, watched: hasEnded !== undefined, expires_at: timestamp(now + milliseconds + keptMs) } }
    try {
      await store.commit({ id: ids.uuid(), writes: [{ kind: "update", collection: leases, id: name, where, update, upsert: true }] })
      return true
    } catch (error) {
      if (error instanceof AppError && error.code === "aborted") return false
      throw error
    }
  }

  return {
    async claim(name, milliseconds) {
      if (await claimed(name, milliseconds)) return true
      if (!hasEnded) return false
      const lease = await store.open(leases).get(name)
      // A holder of an earlier version has no known process.
      if (!lease?.watched || !(await hasEnded(lease.holder))) return false
      return await claimed(name, milliseconds, lease.holder)
    },
    async release(name) {
      await store.commit({
        id: ids.uuid(),
        writes: [{ kind: "remove", collection: leases, id: name, where: { holder }, optional: true }],
      })
    },
  }
}

/** Frees all leases. For a store of a single process: at its start, every lease belongs to an ended process. */
export async function freeAllLeases({ store, ids, log }: { store: Store; ids: Ids; log: Logger }): Promise<void> {
  const names: string[] = []
  for await (const { id } of store.open(leases).stream({})) names.push(id)
  if (names.length === 0) return
  const writes = names.map((id) => ({ kind: "remove", collection: leases, id, optional: true }) as const)
  await store.commit({ id: ids.uuid(), writes })
  log.info({ leases: names.length }, "freed the leases of the process before")
}

const maxWatched = 1_000
/** For a process without a registration. */
const defaultLeaseMs = 5_000

/**
 * Detects processes of the cluster that have ended: no renewal for twice the lease. Uses this node's own monotonic clock, so
 * clocks of machines are never compared.
 */
export class EndedProcesses {
  readonly #store: Store
  readonly #clock: Clock
  /** The current registrations of each process, with the time they were first seen. */
  readonly #watched = new Map<string, { readonly registrations: string; readonly since: number }>()

  constructor({ store, clock }: { store: Store; clock: Clock }) {
    this.#store = store
    this.#clock = clock
  }

  /** Returns true once enough time has passed since the first call. */
  async hasEnded(process: string): Promise<boolean> {
    const asked = this.#clock.monotonic()
    const found = await this.#store.open(nodes).find({ process }, { limit: 100 })
    const registrations = found
      .map(({ id, renewals }) => `${id} ${renewals}`)
      .sort()
      .join()
    const before = this.#watched.get(process)
    if (before?.registrations === registrations) {
      const leaseMs = Math.max(defaultLeaseMs, ...found.map(({ lease_ms }) => lease_ms))
      return asked - before.since > 2 * leaseMs
    }
    if (this.#watched.size >= maxWatched) this.#watched.clear()
    this.#watched.set(process, { registrations, since: this.#clock.monotonic() })
    return false
  }
}
