// Counts in the memory of this process.
import type { Limit, Note, Taken, Tally } from "../contract/tally.ts"
import type { Clock } from "../kernel/clock.ts"
import { Buckets } from "./buckets.ts"

/** Of one kind, so that a flood from many addresses does not push out the buckets of keys. */
const maxBuckets = 50_000
const maxNotes = 100_000

export class LocalTally implements Tally {
  readonly #clock: Clock
  /** By the kind of what is counted: what stands before the colon. */
  readonly #buckets = new Map<string, Buckets>()
  readonly #held = new Map<string, number>()
  readonly #notes = new Map<string, { readonly value: string; readonly until: number }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  async take(buckets: readonly Limit[]): Promise<Taken> {
    const found = buckets.map(({ id, limit }) => this.#bucketsOf(id).refilled(id, limit))
    const taken = found.every(({ tokens }) => tokens >= 1)
    if (taken) for (const bucket of found) bucket.tokens -= 1
    return { taken, left: found.map(({ tokens }) => tokens) }
  }

  async first({ id, value, keepMs }: Note): Promise<string> {
    const now = this.#clock.monotonic()
    const noted = this.#notes.get(id)
    const standing = noted && noted.until >= now ? noted.value : value
    // Last in the map: the ones asked for longest ago stand first.
    this.#notes.delete(id)
    this.#notes.set(id, { value: standing, until: now + keepMs })
    for (const [oldest, { until }] of this.#notes) {
      if (until >= now && this.#notes.size <= maxNotes) break
      this.#notes.delete(oldest)
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

  async hold({ id, limit }: Limit): Promise<(() => void) | undefined> {
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
