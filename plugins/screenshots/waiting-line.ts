// How many screenshots an organization has under way: those stored, and those being accepted right now, so that starts
// at the same instant cannot all pass the bound together. (On several nodes they can, by one commit's width.)
import { AppError, type Clock, type Store, type Work } from "#core"
import { ScreenshotCollection } from "./collection.ts"

/** A place taken by a start whose commit failed is free again after this. */
const reservationMs = 10_000

export class WaitingLine {
  readonly #store: Store
  readonly #clock: Clock
  readonly #most: number
  readonly #reserved = new Map<string, Set<number>>()

  constructor(store: Store, clock: Clock, most: number) {
    this.#store = store
    this.#clock = clock
    this.#most = most
  }

  /** Throws `resource_exhausted`; otherwise the place is taken until the work is committed. */
  async enter(work: Work, organization: string): Promise<void> {
    const places = this.#placesOf(organization)
    let place = this.#clock.monotonic()
    while (places.has(place)) place += 0.001
    places.add(place)
    work.afterCommit(() => void places.delete(place))
    const stored = await this.#store.open(ScreenshotCollection, organization).count({ status: "processing" }, { limit: this.#most })
    if (stored + places.size <= this.#most) return
    places.delete(place)
    const message = `${this.#most} screenshots are under way already, the most at once; ask for this one when some are done.`
    throw new AppError("resource_exhausted", message, { reason: "queue_full", most: this.#most }, { retryAfterS: 10 })
  }

  #placesOf(organization: string): Set<number> {
    const now = this.#clock.monotonic()
    for (const [id, places] of this.#reserved) {
      for (const place of places) if (now - place > reservationMs) places.delete(place)
      if (places.size === 0) this.#reserved.delete(id)
    }
    const places = this.#reserved.get(organization) ?? new Set<number>()
    this.#reserved.set(organization, places)
    return places
  }
}
