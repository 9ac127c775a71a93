// Counts an organization's screenshots in progress: stored records and starts in progress. So concurrent starts cannot exceed the
// bound.
// (On several nodes they can, for the time of one commit.)
import { AppError, type Clock, type Store, type UnitOfWork } from "#core"
import { ScreenshotCollection } from "./collection.ts"

/** After this time, the place of a failed start is free again. */
const reservationMs = 10_000

export class WaitingLine {
  readonly #store: Store
  readonly #clock: Clock
  readonly #most: number
  /** By organization: ids of starting screenshots, and their start times. */
  readonly #accepting = new Map<string, Map<string, number>>()

  constructor(store: Store, clock: Clock, most: number) {
    this.#store = store
    this.#clock = clock
    this.#most = most
  }

  /** Throws `resource_exhausted` at the bound. Otherwise reserves a place for the screenshot `id` until the work is committed. */
  async enter(work: UnitOfWork, organization: string, id: string): Promise<void> {
    const accepting = this.#acceptingOf(organization)
    accepting.set(id, this.#clock.monotonic())
    work.afterCommit(() => void accepting.delete(id))
    // Read before the count. A screenshot committed in between is then counted only here.
    const places = [...accepting.keys()]
    const free = this.#most - places.length
    if (free >= 0 && (await this.#elsewhere(organization, places)) <= free) return
    accepting.delete(id)
    const message = `${this.#most} screenshots are in progress already, the limit; start this one when some are done.`
    throw new AppError("resource_exhausted", message, { reason: "queue_full", max: this.#most }, { retryAfterS: 10 })
  }

  #elsewhere(organization: string, places: string[]): Promise<number> {
    const filter = { status: "processing", id: { $nin: places } }
    return this.#store.open(ScreenshotCollection, organization).count(filter, { limit: this.#most })
  }

  #acceptingOf(organization: string): Map<string, number> {
    const now = this.#clock.monotonic()
    for (const [owner, accepting] of this.#accepting) {
      for (const [id, since] of accepting) if (now - since > reservationMs) accepting.delete(id)
      if (accepting.size === 0) this.#accepting.delete(owner)
    }
    const accepting = this.#accepting.get(organization) ?? new Map<string, number>()
    this.#accepting.set(organization, accepting)
    return accepting
  }
}
