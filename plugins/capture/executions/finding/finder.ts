// Finds events by any text. IDs are read directly. Other text is looked up in the index, and unindexed events are read. Each
// candidate of the index is read and compared, so results contain only current journal text.
import { type Clock, isUuid, type Store } from "#core"
import { EntryCollection, type JournalEntry, LateEntryCollection, retainedEntry } from "#core/engine"
import { commonOrdinals, partOf, postingIn } from "#core/search"
import { newestFirst } from "../../pipelines/index.ts"
import { blockId, blockLength, postingsId, type Segment } from "../collections.ts"
import { bodiesApart, entryText, plainText } from "./entry-text.ts"
import { idAt, readIndex, readParts } from "./stored-index.ts"
import { type Sought, soughtIn, tokens } from "./tokens.ts"

export interface FinderDeps {
  readonly store: Store
  readonly clock: Clock
  readonly payloadsDays: number
}

export interface Found {
  readonly events: readonly JournalEntry[]
  /** False if there may be unexamined matches. */
  readonly complete: boolean
  /** Receipt time the index has reached, or "" without an index. */
  readonly indexed_through: string
}

/** Maximum number of tokens looked up in the index. */
const maxTokens = 6
const maxCandidates = 1_000
const maxUnindexed = 2_000
const candidatesAtOnce = 100
const minAtOnce = 25

export class Finder {
  readonly #deps: FinderDeps

  constructor(deps: FinderDeps) {
    this.#deps = deps
  }

  /** Returns undefined if the text contains no token. */
  async find(organization: string, text: string, limit: number): Promise<Found | undefined> {
    const sought = soughtIn(plainText(text))
    if (sought.all.length === 0) return undefined
    const index = await readIndex(this.#deps.store, organization)
    const named = await this.#named(organization, text.trim().toLowerCase())
    const behind = await this.#unindexed(organization, index.through)
    // First look for whole compounds, such as an address. If no event has them, look for their words.
    const { all, compounds } = sought
    const words: Sought = { all, compounds: [] }
    const ways = compounds.length === 0 ? [words] : [{ all: [...compounds, ...all], compounds }, words]
    const unindexed = await this.#firstMatching(organization, behind.entries, ways, limit)
    for (const [at, way] of ways.entries()) {
      const indexed = await this.#inSegments(organization, index.segments, way, limit)
      const found = new Map([...named, ...(unindexed[at] ?? []), ...indexed.entries].map((entry) => [entry.id, entry]))
      if (found.size === 0 && way !== ways.at(-1)) continue
      return {
        events: [...found.values()].sort(newestFirst).slice(0, limit),
        complete: behind.complete && indexed.complete && found.size <= limit,
        indexed_through: index.through,
      }
    }
    return undefined
  }

  async #named(organization: string, text: string): Promise<JournalEntry[]> {
    const entry = isUuid(text) ? await this.#deps.store.open(EntryCollection, organization).get(text) : undefined
    return entry ? [this.#retained(entry)] : []
  }

  /** Returns the entries after the index and the late entries. */
  async #unindexed(organization: string, through: string) {
    const { store } = this.#deps
    const filter = through === "" ? {} : { received_at: { $gt: through } }
    const read = await store.open(EntryCollection, organization).find(filter, { sort: { received_at: -1 }, limit: maxUnindexed })
    const late = (await store.open(LateEntryCollection, organization).find({}, { limit: candidatesAtOnce })).map(({ id }) => id)
    const entries = [...read, ...(await this.#entries(organization, late))]
    return { entries, complete: read.length < maxUnindexed && late.length < candidatesAtOnce }
  }

  /** Returns the matches for each query, until the first query has enough. Reads the unindexed entries once for all queries. */
  async #firstMatching(organization: string, entries: readonly JournalEntry[], ways: readonly Sought[], limit: number) {
    const found: JournalEntry[][] = ways.map(() => [])
    for (let from = 0; from < entries.length && (found[0]?.length ?? 0) <= limit; from += 500) {
      const some = await this.#matching(organization, entries.slice(from, from + 500), ways)
      for (const [at, matching] of some.entries()) found[at]?.push(...matching)
    }
    return found
  }

  async #inSegments(organization: string, segments: readonly Segment[], sought: Sought, limit: number) {
    // A compound is rare enough by itself.
    const asked = (sought.compounds.length > 0 ? sought.compounds : sought.all).slice(0, maxTokens)
    const newest = [...segments].sort((a, b) => (a.to < b.to ? 1 : -1))
    const named = newest.flatMap((segment) => asked.map((token) => postingsId(segment.id, partOf(token, segment.bits))))
    const read = await readParts(this.#deps.store, organization, [...new Set(named)])
    const candidates: { block: string; at: number }[] = []
    let complete = true
    for (const segment of newest) {
      const postings = asked.map((token) => postingIn(read.get(postingsId(segment.id, partOf(token, segment.bits))) ?? "", token))
      const common = commonOrdinals(postings)
      if (!common.complete) complete = false
      const perBlock = blockLength(segment)
      for (const ordinal of common.ordinals.reverse())
        candidates.push({ block: blockId(segment.id, Math.floor(ordinal / perBlock)), at: ordinal % perBlock })
    }
    const entries: JournalEntry[] = []
    let from = 0
    while (from < Math.min(candidates.length, maxCandidates) && entries.length <= limit) {
      // Each candidate costs one block of IDs, so read only as many as needed.
      const count = Math.min(candidatesAtOnce, Math.max(minAtOnce, 2 * (limit + 1 - entries.length)))
      const some = candidates.slice(from, from + count)
      from += count
      const blocks = await readParts(this.#deps.store, organization, [...new Set(some.map(({ block }) => block))])
      const found = await this.#entries(
        organization,
        some.flatMap(({ block, at }) => idAt(blocks.get(block) ?? "", at) ?? []),
      )
      const [matching = []] = await this.#matching(organization, found, [sought])
      entries.push(...matching)
    }
    return { entries, complete: complete && from >= candidates.length }
  }

  async #entries(organization: string, ids: readonly string[]): Promise<JournalEntry[]> {
    if (ids.length === 0) return []
    return await this.#deps.store.open(EntryCollection, organization).find({ id: { $in: [...new Set(ids)] } }, { limit: ids.length })
  }

  async #matching(organization: string, entries: readonly JournalEntry[], ways: readonly Sought[]): Promise<JournalEntry[][]> {
    const bodies = await bodiesApart(this.#deps.store, organization, entries)
    const matching: JournalEntry[][] = ways.map(() => [])
    for (const given of entries) {
      const entry = this.#retained(given)
      const left = new Set(ways.flatMap(({ all }) => all))
      tokens(entryText(entry, entry === given ? bodies.get(entry.id) : undefined), (token) => void left.delete(token))
      for (const [at, { all }] of ways.entries()) if (!all.some((token) => left.has(token))) matching[at]?.push(entry)
    }
    return matching
  }

  #retained(entry: JournalEntry): JournalEntry {
    return retainedEntry(entry, this.#deps.payloadsDays, this.#deps.clock.now())
  }
}
