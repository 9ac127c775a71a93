// Token buckets that refill evenly over a minute, a bounded number of them in this process's memory.
import { windowSeconds } from "../contract/rate-limiter.ts"
import type { Clock } from "../kernel/clock.ts"

export interface Bucket {
  tokens: number
  at: number
}

export class Buckets {
  readonly #clock: Clock
  readonly #max: number
  readonly #buckets = new Map<string, Bucket>()

  constructor(clock: Clock, max: number) {
    this.#clock = clock
    this.#max = max
  }

  get size(): number {
    return this.#buckets.size
  }

  /** The bucket as it stands now; a new one is full. */
  refilled(id: string, limit: number): Bucket {
    const now = this.#clock.monotonic()
    let bucket = this.#buckets.get(id)
    if (bucket) this.#buckets.delete(id)
    else {
      if (this.#buckets.size >= this.#max) this.#forget(now)
      bucket = { tokens: limit, at: now }
    }
    // Last in the map: the ones asked for longest ago stand first.
    this.#buckets.set(id, bucket)
    bucket.tokens = Math.min(limit, bucket.tokens + ((now - bucket.at) / 1_000) * (limit / windowSeconds))
    bucket.at = now
    return bucket
  }

  /** Buckets untouched for a window are full again, so nothing is lost with them; if there is none, the oldest tenth goes. */
  #forget(now: number): void {
    let least = Math.ceil(this.#max / 10)
    for (const [id, bucket] of this.#buckets) {
      if (least <= 0 && now - bucket.at < windowSeconds * 1_000) return
      this.#buckets.delete(id)
      least -= 1
    }
  }
}
