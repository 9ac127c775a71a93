// Variants of pages as they are served, made once: the ones asked for last, up to an amount of HTML, since a page may be one
// line or most of a megabyte.
import type { StoredPage, Variant } from "../collections.ts"
import { type Prepared, prepare } from "./html.ts"

/** Of all that is kept. */
const maxCharacters = 32 << 20

export class PreparedPages {
  /** By page, revision and variant; the one asked for last is at the end. */
  readonly #kept = new Map<string, Prepared>()
  #characters = 0

  of({ id, revision }: Pick<StoredPage, "id" | "revision">, { key, html }: Pick<Variant, "key" | "html">): Prepared {
    const name = `${id} ${revision} ${key}`
    const known = this.#kept.get(name)
    if (known) {
      this.#kept.delete(name)
      this.#kept.set(name, known)
      return known
    }
    const made = prepare(html)
    this.#kept.set(name, made)
    this.#characters += costOf(name, made)
    for (const [oldest, prepared] of this.#kept) {
      if (this.#characters <= maxCharacters) break
      this.#kept.delete(oldest)
      this.#characters -= costOf(oldest, prepared)
    }
    return made
  }
}

/** About what an entry and an insertion take beside the text. */
const entryCharacters = 128

function costOf(name: string, { html, insertions }: Prepared): number {
  return name.length + html.length + entryCharacters * (1 + insertions.length)
}
