// Merges segments of one size and one day, so that a search among millions of events reads a few parts and not thousands. Part by
// part, so that no more of a segment is in memory than one of its parts.
import type { Ids, Store, UnitsOfWork } from "#core"
import { blockId, blockIds, postingsId, type Segment } from "../collections.ts"
import { bitsFor, idBlocks, idsOf, idsPerBlock, maxEntries, mergedPostings, type Posting, parts, readPart } from "./segment.ts"
import { readParts, removeParts, writeParts } from "./stored-index.ts"

const mergedAtOnce = 8
const atOnce = 16

/** Those that are to be merged next; none where there are too few of a size. */
export function mergeable(segments: readonly Segment[]): Segment[] {
  const alike = new Map<string, Segment[]>()
  for (const segment of segments) {
    if (segment.entries * 2 > maxEntries) continue
    const level = Math.floor(Math.log2(segment.entries) / Math.log2(mergedAtOnce))
    const key = `${segment.to.slice(0, 10)} ${level}`
    const group = [...(alike.get(key) ?? []), segment]
    const entries = group.reduce((sum, one) => sum + one.entries, 0)
    if (group.length === mergedAtOnce || entries > maxEntries) return entries > maxEntries ? group.slice(0, -1) : group
    alike.set(key, group)
  }
  return []
}

export interface MergingDeps {
  readonly store: Store
  readonly works: UnitsOfWork
  readonly ids: Ids
  readonly payloadsDays: number
  /** Called after each piece of work. */
  readonly rest: () => Promise<void>
}

export class Merging {
  readonly #deps: MergingDeps

  constructor(deps: MergingDeps) {
    this.#deps = deps
  }

  /** The parts of one segment that holds what all of them hold. It is not listed yet. */
  async merge(organization: string, given: readonly Segment[]): Promise<Segment> {
    const { store, ids, rest } = this.#deps
    const sources = [...given].sort((a, b) => (a.from < b.from ? -1 : 1))
    const entries = sources.reduce((sum, one) => sum + one.entries, 0)
    const bits = Math.max(...sources.map((one) => one.bits), bitsFor(sources.reduce((sum, one) => sum + 2 ** one.bits * 700, 0)))
    const least = Math.min(...sources.map((one) => one.bits))
    const id = ids.uuid()
    const to =
      sources
        .map((one) => one.to)
        .sort()
        .at(-1) ?? ""
    const segment: Segment = { id, entries, bits, ids_per_block: idsPerBlock, from: sources[0]?.from ?? "", to }
    await this.#ids(organization, sources, segment)
    for (let first = 0; first < 2 ** least; first += atOnce) {
      const prefixes = Array.from({ length: Math.min(atOnce, 2 ** least - first) }, (_, n) => first + n)
      const named = prefixes.flatMap((prefix) => sources.flatMap((source) => partsUnder(source, prefix, least)))
      const read = await readParts(store, organization, named)
      const written = prefixes.flatMap((prefix) => {
        let offset = 0
        const each = sources.map((source) => {
          const postings: Posting[] = []
          for (const part of partsUnder(source, prefix, least)) postings.push(...readPart(read.get(part) ?? ""))
          offset += source.entries
          return { postings, offset: offset - source.entries }
        })
        return [...parts(mergedPostings(each), bits)]
      })
      const filed = written.map(({ part, base64 }) => ({ id: postingsId(id, part), base64 }))
      await writeParts(this.#deps, organization, segment, filed)
      await rest()
    }
    return segment
  }

  remove(organization: string, segments: readonly Segment[]): Promise<void> {
    return removeParts(this.#deps, organization, segments)
  }

  async #ids(organization: string, sources: readonly Segment[], segment: Segment): Promise<void> {
    const all: string[] = []
    for (const source of sources) {
      const named = blockIds(source)
      const read = await readParts(this.#deps.store, organization, named)
      const before = all.length
      for (const block of named) all.push(...idsOf(read.get(block) ?? ""))
      // Ordinals of the next one begin behind it.
      if (all.length !== before + source.entries) throw new Error(`A part of the segment ${source.id} is not stored.`)
    }
    const blocks = [...idBlocks(all)].map((base64, block) => ({ id: blockId(segment.id, block), base64 }))
    await writeParts(this.#deps, organization, segment, blocks)
  }
}

/** Parts of a segment whose tokens begin with these bits. */
function partsUnder({ id, bits }: Segment, prefix: number, length: number): string[] {
  const count = 2 ** (bits - length)
  return Array.from({ length: count }, (_, n) => postingsId(id, prefix * count + n))
}
