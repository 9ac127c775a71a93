// Merges segments of one size and one day, so that a search among millions of events reads a few parts and not thousands. Part by
// part, so that no more of a segment is in memory than one of its parts.
import type { Ids, Store, UnitsOfWork } from "#core"
import { bitsFor, mergedPostings, type Posting, partOf, readPart, segmentsToMerge, uuidsIn } from "#core/search"
import { blockIds, postingsId, type Segment } from "../collections.ts"
import { blocksOf, idsPerBlock, partsOf, readParts, removeParts, writeParts } from "./stored-index.ts"

/** Entries of one segment. */
const maxEntries = 2 ** 18
const atOnce = 16

/** Segments of one day to merge next. */
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

  /** The parts of one segment that holds what all of them hold. It is not listed yet. */
  async merge(organization: string, given: readonly Segment[]): Promise<Segment> {
    const { store, ids, rest } = this.#deps
    const sources = [...given].sort((a, b) => (a.from < b.from ? -1 : 1))
    const entries = sources.reduce((sum, one) => sum + one.entries, 0)
    const bits = Math.max(...sources.map((one) => one.bits), bitsFor(sources.reduce((sum, one) => sum + 2 ** one.bits * 700, 0)))
    // Of the prefixes that are merged one by one: each has a few parts' worth of postings.
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
      // Ordinals of the next one begin behind it.
      if (all.length !== before + source.entries) throw new Error(`A part of the segment ${source.id} is not stored.`)
    }
    await writeParts(this.#deps, organization, segment, blocksOf(segment.id, all))
  }
}

/** Postings of one segment, read by ascending prefixes of their tokens. A part of the segment may have several prefixes. */
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

  /** The part to read for a prefix; none if it was read. */
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
