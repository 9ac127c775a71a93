// A cache bounded by text size instead of entry count: a page may be one line or most of a megabyte. Evicts the least recently
// used.

/** Bound of the whole cache: 64 MB, at two bytes per character. */
const maxCharacters = 32 << 20
/** Estimated overhead of an entry, in characters. */
const entryCharacters = 256

export class KeptBySize<T> {
  /** The most recently used entry is last. */
  readonly #kept = new Map<string, T>()
  readonly #charactersOf: (value: T) => number
  #characters = 0

  constructor(charactersOf: (value: T) => number) {
    this.#charactersOf = charactersOf
  }

  get(key: string): T | undefined {
    const value = this.#kept.get(key)
    if (value === undefined) return undefined
    this.#kept.delete(key)
    this.#kept.set(key, value)
    return value
  }

  set(key: string, value: T): void {
    this.#drop(key)
    this.#kept.set(key, value)
    this.#characters += this.#costOf(key, value)
    for (const oldest of this.#kept.keys()) {
      if (this.#characters <= maxCharacters) return
      this.#drop(oldest)
    }
  }

  clear(): void {
    this.#kept.clear()
    this.#characters = 0
  }

  #drop(key: string): void {
    const value = this.#kept.get(key)
    if (value === undefined) return
    this.#kept.delete(key)
    this.#characters -= this.#costOf(key, value)
  }

  #costOf(key: string, value: T): number {
    return key.length + this.#charactersOf(value) + entryCharacters
  }
}
