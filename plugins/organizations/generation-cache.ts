// What a node keeps in memory of stored things, until told that one changed. A load that was in progress when something
// was dropped is answered, but not kept: it may have read what was there before the change.
export class GenerationCache<T> {
  readonly #kept = new Map<string, T>()
  readonly #limit: number
  #generation = 0

  /** At most `limit` entries; the one kept longest goes first. */
  constructor(limit: number) {
    this.#limit = limit
  }

  get(key: string): T | undefined {
    return this.#kept.get(key)
  }

  /** Loads what is not kept. `undefined` is not kept, so that what is made now is seen at once. */
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
