// Extracts the names of elements from a page's HTML, once per revision. The author chose these names, so any form is allowed.
// Only names that would otherwise look like typed text are stored, so the set is small.
import type { Json } from "#core"
import type { StoredPage } from "../pages/index.ts"
import { looksGiven, type SubmittedEvent } from "./vocabulary.ts"

const rememberedPages = 200
/** Bounds per page: number of names and length of a name. Other names are judged by their form. */
const most = 500
const longest = 200

/** Also matches inside scripts and comments, since the author wrote those as well. */
const naming = /(?<=[\s"'/])(?:id|name|data-cta|data-section)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))/gi

export class AuthoredNames {
  readonly #cached = new Map<string, { readonly revision: number; readonly names: ReadonlySet<string> }>()

  of({ id, revision, variants }: StoredPage): ReadonlySet<string> {
    const cached = this.#cached.get(id)
    if (cached?.revision === revision) return cached.names
    if (this.#cached.size >= rememberedPages) this.#cached.clear()
    const names = namesIn(variants.map(({ html }) => html))
    this.#cached.set(id, { revision, names })
    return names
  }
}

/** Returns the authored names in the events. A replay can then read an event in the same way after the page has changed. */
export function namesHeld(events: readonly SubmittedEvent[], authored: ReadonlySet<string>): string[] {
  const isAuthored = (value: Json): value is string => typeof value === "string" && authored.has(value)
  return [...new Set(events.flatMap(({ columns }) => Object.values(columns)).filter(isAuthored))]
}

function namesIn(texts: readonly string[]): ReadonlySet<string> {
  const names = new Set<string>()
  for (const text of texts) {
    for (const [, double, single, bare] of text.matchAll(naming)) {
      const name = decoded(double ?? single ?? bare ?? "")
      if (name.length > longest || looksGiven(name)) continue
      // Copies the name: a slice of the text would keep the whole text in memory.
      names.add(Buffer.from(name).toString())
      if (names.size >= most) return names
    }
  }
  return names
}

const entities: Readonly<Record<string, string>> = { amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0" }

/** Decodes the references that editors write in attributes. Others remain unchanged. */
function decoded(value: string): string {
  return value.replace(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]{2,4}));/gi, (whole, decimal?: string, hex?: string, name?: string) => {
    if (name !== undefined) return entities[name.toLowerCase()] ?? whole
    const point = decimal === undefined ? Number.parseInt(hex ?? "", 16) : Number(decimal)
    return point > 0 && point <= 0x10ffff ? String.fromCodePoint(point) : whole
  })
}
