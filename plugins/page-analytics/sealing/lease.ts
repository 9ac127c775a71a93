// Which node seals: one at a time holds the lease and renews it with each pass. Two may hold it for a moment when their
// clocks are apart; then the copies' revisions refuse one of them, and work is lost, not rows.
import { AppError, type Clock, type Ids, type Store, timestamp } from "#core"
import { LeaseCollection } from "../collections.ts"

const lease = { collection: LeaseCollection, kind: "update", id: "sealer" } as const
const leaseMs = 15_000

export class SealerHold {
  readonly #deps: { readonly store: Store; readonly clock: Clock; readonly ids: Ids }
  readonly #holder: string

  constructor(deps: { readonly store: Store; readonly clock: Clock; readonly ids: Ids }) {
    this.#deps = deps
    this.#holder = deps.ids.uuid()
  }

  /** True when this node may seal; `passedAt` tells that a pass went well. */
  async claim(passedAt?: string): Promise<boolean> {
    const { store, clock, ids } = this.#deps
    const now = clock.now()
    const where = { $or: [{ holder: this.#holder }, { until: { $lte: timestamp(now) } }] }
    const passed = passedAt === undefined ? {} : { passed_at: passedAt }
    const update = { $set: { holder: this.#holder, until: timestamp(now + leaseMs), ...passed } }
    try {
      await store.commit({ id: ids.uuid(), writes: [{ ...lease, where, update, upsert: true }] })
      return true
    } catch (error) {
      if (error instanceof AppError && error.code === "aborted") return false
      throw error
    }
  }

  async release(): Promise<void> {
    const { store, ids, clock } = this.#deps
    const update = { $set: { until: timestamp(clock.now()) } }
    await store.commit({ id: ids.uuid(), writes: [{ ...lease, where: { holder: this.#holder }, update, optional: true }] })
  }
}

/** When the last whole pass began. */
export async function passedAt(store: Store): Promise<string | null> {
  return (await store.open(LeaseCollection).get("sealer"))?.passed_at ?? null
}
