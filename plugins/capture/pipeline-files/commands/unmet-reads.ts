// Finds event fields read by templates but absent from all events. Such fields render empty without an error, so a misspelt name
// looks like an empty value.
import type { Json } from "#core"
import type { JournalEntry, PlacedRead } from "#core/engine"

/** Liquid's built-in keys of lists and texts. */
const ofLiquid = ["size", "first", "last"]

export class UnmetReads {
  /** Places that read a field, by the field's name. */
  readonly #left = new Map<string, PlacedRead[]>()
  #events = 0

  /** Ignores reads with the filter `default`: their field may be absent. */
  constructor(reads: readonly PlacedRead[]) {
    for (const read of reads) {
      if (read.root !== "event" || read.path.length === 0 || read.hasDefault) continue
      const name = nameOf(read)
      this.#left.set(name, [...(this.#left.get(name) ?? []), read])
    }
  }

  /** Removes the fields of this entry's event. Removes all fields if the entry holds only a cut text of the event. */
  see({ verdict, status, transformed }: JournalEntry): void {
    if (!verdict.ok || status === "rejected" || transformed === null) return
    if (typeof transformed !== "object") this.#left.clear()
    this.#events++
    for (const [name, [read]] of this.#left) if (read && has(transformed, read.path)) this.#left.delete(name)
  }

  /** Returns one line per field, with `start` as the beginning. */
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

/** A null field counts as present. */
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
