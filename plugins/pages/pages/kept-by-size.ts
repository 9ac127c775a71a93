// A cache of pages, bounded by how much text it holds rather than by how many: a page may be one line or most of a
// megabyte. What was asked for longest ago goes first.

/** Of all that a cache holds: at most 64 MB, in two bytes each. */
const maxCharacters = 32 << 20
/** About what an entry takes beside its text. */
const entryCharacters = 256

export class KeptBySize<T> {
  /** The one asked for last is at the end. */
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
