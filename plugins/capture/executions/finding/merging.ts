// Merges segments of the same size and day. A search among millions of events then reads a few parts instead of thousands.
// Merging reads part by part, so memory holds one part per segment.
import type { Ids, Store, UnitsOfWork } from "#core"
import { bitsFor, mergedPostings, type Posting, partOf, readPart, segmentsToMerge, uuidsIn } from "#core/search"
import { blockIds, postingsId, type Segment } from "../collections.ts"
import { blocksOf, idsPerBlock, partsOf, readParts, removeParts, writeParts } from "./stored-index.ts"

/** Maximum entries of one segment. */
const maxEntries = 2 ** 18
const atOnce = 16

/** Returns the segments of one day to merge next. */
export function mergeable(segments: readonly Segment[]): Segment[] {
  const rule = { maxSize: maxEntries / 2 + 1, maxMerged: maxEntries, groupOf: ({ to }: Segment) => to.slice(0, 10) }
  return segmentsToMerge(segments, ({ entries }) => entries, rule)
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

  /** Writes the parts of one segment with the content of all given segments. The caller adds the segment to the list. */
  async merge(organization: string, given: readonly Segment[]): Promise<Segment> {
    const { store, ids, rest } = this.#deps
    const sources = [...given].sort((a, b) => (a.from < b.from ? -1 : 1))
    const entries = sources.reduce((sum, one) => sum + one.entries, 0)
    const bits = Math.max(...sources.map((one) => one.bits), bitsFor(sources.reduce((sum, one) => sum + 2 ** one.bits * 700, 0)))
    // Length of the prefixes merged one by one. Each prefix has a few parts of postings.
    const length = Math.max(...sources.map((one) => one.bits))
    const id = ids.uuid()
    const to =
      sources
        .map((one) => one.to)
        .sort()
        .at(-1) ?? ""
    const segment: Segment = { id, entries, bits, ids_per_block: idsPerBlock, from: sources[0]?.from ?? "", to }
    await this.#ids(organization, sources, segment)
    let offset = 0
    const streams = sources.map((source) => {
      offset += source.entries
      return new PostingStream(source, length, offset - source.entries)
    })
    for (let first = 0; first < 2 ** length; first += atOnce) {
      const prefixes = Array.from({ length: Math.min(atOnce, 2 ** length - first) }, (_, n) => first + n)
      const named = new Set(streams.flatMap((stream) => prefixes.flatMap((prefix) => stream.lacks(prefix))))
      const read = await readParts(store, organization, [...named])
      const written: { id: string; base64: string }[] = []
      for (const prefix of prefixes) {
        const merged = mergedPostings(streams.map((stream) => ({ postings: stream.take(prefix, read), offset: stream.offset })))
        written.push(...partsOf(id, merged, bits))
        await rest()
      }
      await writeParts(this.#deps, organization, segment, written)
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
      for (const block of named) {
        all.push(...uuidsIn(Buffer.from(read.get(block) ?? "", "base64")))
        await this.#deps.rest()
      }
      // The ordinals of the next segment begin after these entries, so a missing block is an error.
      if (all.length !== before + source.entries) throw new Error(`A part of the segment ${source.id} is not stored.`)
    }
    await writeParts(this.#deps, organization, segment, blocksOf(segment.id, all))
  }
}

/** Reads the postings of one segment by ascending token prefix. One part of the segment may cover several prefixes. */
class PostingStream {
  readonly offset: number
  readonly #source: Segment
  readonly #length: number
  #part = -1
  #postings: readonly Posting[] = []
  #at = 0

  constructor(source: Segment, length: number, offset: number) {
    this.#source = source
    this.#length = length
    this.offset = offset
  }

  /** Returns the part to read for a prefix, or an empty list if the part was read before. */
  lacks(prefix: number): string[] {
    const part = this.#partOf(prefix)
    return part === this.#part ? [] : [postingsId(this.#source.id, part)]
  }

  take(prefix: number, read: ReadonlyMap<string, string>): Posting[] {
    const part = this.#partOf(prefix)
    if (part !== this.#part) {
      this.#part = part
      this.#postings = [...readPart(read.get(postingsId(this.#source.id, part)) ?? "")]
      this.#at = 0
    }
    const taken: Posting[] = []
    for (let next = this.#postings[this.#at]; next && partOf(next.token, this.#length) === prefix; next = this.#postings[++this.#at])
      taken.push(next)
    return taken
  }

  #partOf(prefix: number): number {
    return Math.floor(prefix / 2 ** (this.#length - this.#source.bits))
  }
}
