// Finds out which process of the cluster has ended: for twice its lease it renewed no registration. Measured by this
// node's own monotonic clock, so that clocks of machines are never compared.
import type { Store } from "../contract/store.ts"
import type { Clock } from "../kernel/clock.ts"
import { nodes } from "./collections.ts"

const maxWatched = 1_000
/** Of a process that has no registration. */
const defaultLeaseMs = 5_000

export class EndedProcesses {
  readonly #store: Store
  readonly #clock: Clock
  /** The registrations as they were first seen so, by process. */
  readonly #watched = new Map<string, { readonly registrations: string; readonly since: number }>()

  constructor({ store, clock }: { store: Store; clock: Clock }) {
    this.#store = store
    this.#clock = clock
  }

  /** Returns true once enough time has passed since the first question. */
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
