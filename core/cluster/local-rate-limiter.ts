// Counts rates in the memory of this process.
import { type Consumed, type FirstValue, type Limit, type RateLimiter, windowSeconds } from "../contract/rate-limiter.ts"
import type { Clock } from "../kernel/clock.ts"

/** Per kind, so a flood of addresses does not evict the buckets of keys. */
const maxBuckets = 50_000
const maxFirstValues = 100_000

export class LocalRateLimiter implements RateLimiter {
  readonly #clock: Clock
  /** By kind: the text before the colon of the id. */
  readonly #buckets = new Map<string, Buckets>()
  readonly #held = new Map<string, number>()
  readonly #firstValues = new Map<string, { readonly value: string; readonly until: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  async consume(buckets: readonly Limit[]): Promise<Consumed> {
    const found = buckets.map(({ id, limit }) => this.#bucketsOf(id).refilled(id, limit))
    const allowed = found.every(({ tokens }) => tokens >= 1)
    if (allowed) for (const [at, bucket] of found.entries()) bucket.tokens -= buckets[at]?.cost ?? 1
    return { allowed, left: found.map(({ tokens }) => tokens) }
  }

  async firstValue({ id, value, keepMs }: FirstValue): Promise<string> {
    const now = this.#clock.monotonic()
    const noted = this.#firstValues.get(id)
    const standing = noted && noted.until >= now ? noted.value : value
    // Last in the map, so the least recently used values are first.
    this.#firstValues.delete(id)
    this.#firstValues.set(id, { value: standing, until: now + keepMs })
    for (const [oldest, { until }] of this.#firstValues) {
      if (until >= now && this.#firstValues.size <= maxFirstValues) break
      this.#firstValues.delete(oldest)
    }
    return standing
  }

  #bucketsOf(id: string): Buckets {
    const kind = id.slice(0, id.indexOf(":"))
    const known = this.#buckets.get(kind)
    if (known) return known
    const made = new Buckets(this.#clock, maxBuckets)
    this.#buckets.set(kind, made)
    return made
  }

  async acquire({ id, limit }: Limit): Promise<(() => void) | undefined> {
    const held = this.#held.get(id) ?? 0
    if (held >= limit) return undefined
    this.#held.set(id, held + 1)
    let holds = true
    return () => {
      if (!holds) return
      holds = false
      const left = (this.#held.get(id) ?? 1) - 1
      if (left > 0) this.#held.set(id, left)
      else this.#held.delete(id)
    }
  }
}

// Token buckets that refill evenly over a minute. Their number in this process's memory is bounded.

interface Bucket {
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

  /** Returns the bucket with its current tokens. A new bucket is full. */
  refilled(id: string, limit: number): Bucket {
    const now = this.#clock.monotonic()
    let bucket = this.#buckets.get(id)
    if (bucket) this.#buckets.delete(id)
    else {
      if (this.#buckets.size >= this.#max) this.#forget(now)
      bucket = { tokens: limit, at: now }
    }
    // Last in the map, so the least recently used buckets are first.
    this.#buckets.set(id, bucket)
    bucket.tokens = Math.min(limit, bucket.tokens + ((now - bucket.at) / 1_000) * (limit / windowSeconds))
    bucket.at = now
    return bucket
  }

  /** Drops buckets untouched for a window. They are full again, so no state is lost. Without such buckets, drops the oldest tenth. */
  #forget(now: number): void {
    let least = Math.ceil(this.#max / 10)
    for (const [id, bucket] of this.#buckets) {
      if (least <= 0 && now - bucket.at < windowSeconds * 1_000) return
      this.#buckets.delete(id)
      least -= 1
    }
  }
}
