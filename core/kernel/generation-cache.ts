// An in-memory cache of stored documents that other nodes can change.

/** A bounded cache of stored documents. A load during an invalidation returns its value, but the cache drops it: the value may be stale. */
export class GenerationCache<T> {
  readonly #kept = new Map<string, T>()
  readonly #limit: number
  #generation = 0

  /** At the limit, a new entry evicts the oldest. */
  constructor(limit: number) {
    this.#limit = limit
  }

  get(key: string): T | undefined {
    return this.#kept.get(key)
  }

  /** Loads a missing entry. `undefined` is not cached, so a new document is visible at once. */
  async load(key: string, read: () => Promise<T | undefined>): Promise<T | undefined> {
    const kept = this.#kept.get(key)
    if (kept !== undefined) return kept
    const generation = this.#generation
    const value = await read()
    if (value !== undefined && generation === this.#generation) this.#keep(key, value)
    return value
  }

  drop(key: string): void {
    this.#generation++
    this.#kept.delete(key)
  }

  clear(): void {
    this.#generation++
    this.#kept.clear()
  }

  #keep(key: string, value: T): void {
    if (this.#kept.size >= this.#limit) {
      const [oldest] = this.#kept.keys()
      if (oldest !== undefined) this.#kept.delete(oldest)
    }
    this.#kept.set(key, value)
  }
}
