// Fields of the event that templates read and no event had. They render to nothing, without an error: a misspelt name
// looks like an empty value.
import type { Json } from "#core"
import type { JournalEntry, PlacedRead } from "#core/engine"

/** Keys that Liquid has for lists and texts. */
const ofLiquid = ["size", "first", "last"]

export class UnmetReads {
  /** By name, with the places that read it. */
  readonly #left = new Map<string, PlacedRead[]>()
  #events = 0

  /** One before the filter `default` may find nothing. */
  constructor(reads: readonly PlacedRead[]) {
    for (const read of reads) {
      if (read.root !== "event" || read.path.length === 0 || read.hasDefault) continue
      const name = nameOf(read)
      this.#left.set(name, [...(this.#left.get(name) ?? []), read])
    }
  }

  /** Takes out what the event of this entry has; all of it where the entry holds only a cut text of the event. */
  see({ verdict, status, transformed }: JournalEntry): void {
    if (!verdict.ok || status === "rejected" || transformed === null) return
    if (typeof transformed !== "object") this.#left.clear()
    this.#events++
    for (const [name, [read]] of this.#left) if (read && has(transformed, read.path)) this.#left.delete(name)
  }

  /** One line a field, which begins as given. */
  notes(start: string): string[] {
    if (this.#events === 0) return []
    return [...this.#left].map(([name, reads]) => {
      const places = [...new Set(reads.map(({ pointer }) => pointer))]
      return `${start} ${name}, which is read at ${places.join(", ")}.`
    })
  }
}

function nameOf({ root, path }: PlacedRead): string {
  return [root, ...path].join(".")
}

/** Null is there. */
function has(event: Json, path: readonly (string | number)[]): boolean {
  let at: Json | undefined = event
  for (const key of path) {
    if (typeof at === "string" || Array.isArray(at)) {
      if (ofLiquid.includes(String(key))) return true
      if (typeof at === "string") return false
    }
    if (typeof at !== "object" || at === null || !Object.hasOwn(at, key)) return key === "size" && typeof at === "object" && at !== null
    at = (at as Record<string | number, Json>)[key]
  }
  return true
}
