// Keeps an organization's index up to date: what is due becomes a segment, small segments are merged by eights, and those that
// hold deleted items are written again without them. One commit replaces segments and says which items it holds; where two
// nodes are at it at once, the second begins again.
import {
  AppError,
  type Clock,
  changesOf,
  type FieldsOf,
  giveWay,
  type Ids,
  type JobQueue,
  type Logger,
  type Store,
  token,
  type UnitOfWork,
  type UnitsOfWork,
} from "#core"
import type { Models } from "../../models/index.ts"
import {
  IndexCollection,
  ItemCollection,
  RemovalCollection,
  type StoredIndex,
  type StoredItem,
  VersionCollection,
  versionId,
} from "../collections.ts"
import { indexRef } from "../job-refs.ts"
import type { BuiltSegment } from "./built-segment.ts"
import type { IndexWorker, ItemToIndex } from "./index-worker.ts"
import type { Segment } from "./segment.ts"
import type { Segments } from "./segments.ts"

export interface IndexerDeps {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly works: UnitsOfWork
  readonly queue: JobQueue
  readonly models: Models
  readonly segments: Segments
  readonly thread: IndexWorker
}

interface Fresh {
  readonly stored: StoredItem
  readonly item: ItemToIndex
}

const maxItems = 512
const maxCharacters = 8_000_000
/** Segments of one size that are merged into one. */
const mergedAtOnce = 8
/** One of this many items is not merged further. */
const maxMerged = 4_096
const embeddedCharacters = 6_000
const embeddedAtOnce = 64
const vectorRetryMs = 300_000

export const IndexerToken = token<Indexer>("KnowledgeIndexer")

/** Parts that one commit takes. Those of a larger segment are committed one by one. */
const maxPartsAtOnce = 4

type Listed = StoredIndex["segments"][number]

interface Made {
  readonly listed: Listed
  readonly segment: BuiltSegment
}

export class Indexer {
  readonly #deps: IndexerDeps

  constructor(deps: IndexerDeps) {
    this.#deps = deps
  }

  /** Stages that what is due is indexed. */
  soon(work: UnitOfWork, organization: string): void {
    this.#deps.queue.enqueue(work, indexRef, {}, { organization })
  }

  /** Indexes what is due, until nothing is. Throws `aborted` where another node was faster. */
  async run(organization: string, log: Logger): Promise<void> {
    for (;;) {
      // First, so that an item that is deleted after it was found due is taken out of the index the next time.
      const removed = await this.#deps.store.open(RemovalCollection, organization).find({}, { limit: maxItems })
      const due = await this.#due(organization)
      if (due.length === 0 && removed.length === 0) return
      await this.#step(organization, due, new Set(removed.map(({ id }) => id)), log)
    }
  }

  /** Stages that items without a vector are indexed again. */
  async retryVectors(work: UnitOfWork, organization: string): Promise<void> {
    const items = await this.#deps.store.open(ItemCollection, organization).find({ vector_due: true }, { limit: 4 * maxItems })
    const collection = work.in(ItemCollection, organization)
    for (const { id } of items) collection.update(id, { $set: { index_due: true, vector_due: false } }, { optional: true })
    if (items.length > 0) this.soon(work, organization)
  }

  async #step(organization: string, due: readonly StoredItem[], removed: ReadonlySet<string>, log: Logger): Promise<void> {
    const { ids, works, segments, queue, clock, thread } = this.#deps
    const index = await segments.index(organization)
    const made: Made[] = []
    // Parts of an earlier step that ended early.
    const gone: { readonly id: string; readonly parts: number }[] = [...(index.unfinished ?? [])]
    const fresh = await this.#texts(organization, due, index.revision + 1)
    const embedded = await this.#embedded(organization, fresh, log)
    let kept = [...index.segments]
    const replace = async (which: readonly Listed[]) => {
      const merged = await thread.merge(await Promise.all(which.map((one) => segments.parts(organization, one))), [...removed])
      kept = kept.filter((one) => !which.includes(one))
      gone.push(...which)
      if (merged) add(merged)
    }
    const add = (segment: BuiltSegment) => {
      const listed = { id: ids.uuid(), count: segment.count, parts: segment.parts.length }
      made.push({ listed, segment })
    }
    if (removed.size > 0) {
      const open = await segments.open(organization, index)
      for (const listed of index.segments) if (holds(open.get(listed.id), removed)) await replace([listed])
    }
    const indexed = embedded.length > 0 ? await thread.index(embedded.map(({ item }) => item)) : undefined
    if (indexed) add(indexed)
    const merged = mergeable([...kept, ...made.map(({ listed }) => listed)])
    const mergedStored = merged.filter((one) => kept.includes(one))
    // Those that were made just now are merged the next time.
    if (mergedStored.length === mergedAtOnce) await replace(mergedStored)
    const large = made.filter(({ listed }) => listed.parts > maxPartsAtOnce)
    const revision = large.length > 0 ? await this.#storeParts(organization, index, large) : index.revision
    await works.run((work) => {
      for (const { listed, segment } of made) {
        if (listed.parts > maxPartsAtOnce) continue
        for (let part = 0; part < listed.parts; part++) segments.stage(work, organization, listed.id, segment, part)
      }
      for (const one of gone) segments.remove(work, organization, one)
      const items = work.in(ItemCollection, organization)
      for (const { stored, hasVector, item } of embedded) {
        const isVectorDue = !hasVector && this.#deps.models.embedding() !== undefined
        const $set = { entry: item.entry, index_due: false, vector_due: isVectorDue }
        // One that was changed meanwhile stays due.
        const where = { revision: stored.revision, content_version: stored.content_version }
        items.update(stored.id, { $set }, { where, optional: true })
        if (isVectorDue) queue.enqueue(work, indexRef, { vectors: true }, { organization, runAt: clock.now() + vectorRetryMs })
      }
      for (const id of removed) work.in(RemovalCollection, organization).remove(id, { optional: true })
      const listed = [...kept, ...made.map(({ listed: one }) => one)]
      setIndex(work, organization, revision, { segments: listed, unfinished: [], revision: revision + 1 })
    })
  }

  /** Stores segments that are too large for one commit, and returns the revision of the index. The index names them first, and each commit fails if another node has changed the index. */
  async #storeParts(organization: string, index: StoredIndex, large: readonly Made[]): Promise<number> {
    const { works, segments } = this.#deps
    const revision = index.revision + 1
    const unfinished = [...(index.unfinished ?? []), ...large.map(({ listed: { id, parts } }) => ({ id, parts }))]
    await works.run((work) => setIndex(work, organization, index.revision, { segments: index.segments, unfinished, revision }))
    for (const { listed, segment } of large) {
      for (let part = 0; part < listed.parts; part++) {
        await giveWay()
        await works.run((work) => {
          segments.stage(work, organization, listed.id, segment, part)
          setIndex(work, organization, revision, { segments: index.segments, unfinished, revision })
        })
      }
    }
    return revision
  }

  async #due(organization: string): Promise<StoredItem[]> {
    const found = await this.#deps.store.open(ItemCollection, organization).find({ index_due: true }, { sort: { id: 1 }, limit: maxItems })
    let characters = 0
    return found.filter((item, place) => {
      characters += item.characters
      return characters <= maxCharacters || place === 0
    })
  }

  async #texts(organization: string, items: readonly StoredItem[], entry: number): Promise<Fresh[]> {
    const versions = this.#deps.store.open(VersionCollection, organization)
    const found: Fresh[] = []
    for (const stored of items) {
      const text = (await versions.get(versionId(stored.id, stored.content_version)))?.text ?? ""
      const { id, category, type, title, description } = stored
      found.push({ stored, item: { id, entry, category, type, title, description, text } })
      await giveWay()
    }
    return found
  }

  /** With vectors, where there is a model and it answers. */
  async #embedded(organization: string, fresh: readonly Fresh[], log: Logger): Promise<(Fresh & { readonly hasVector: boolean })[]> {
    const { models } = this.#deps
    const vectors: (Float32Array | undefined)[] = []
    if (models.embedding()) {
      for (let at = 0; at < fresh.length; at += embeddedAtOnce) {
        const part = fresh.slice(at, at + embeddedAtOnce)
        const texts = part.map(({ item }) => `${item.title}\n${item.description}\n${item.text}`.slice(0, embeddedCharacters))
        try {
          const { value } = await models.embed(organization, texts, { kept: false })
          vectors.push(...value.map(unit))
        } catch (error) {
          if (!(error instanceof AppError)) throw error
          log.warn({ err: error }, "items are indexed without vectors; retried later")
          vectors.push(...part.map(() => undefined))
        }
      }
    }
    return fresh.map(({ stored, item }, at) => ({ stored, item: { ...item, vector: vectors[at] }, hasVector: vectors[at] !== undefined }))
  }
}

/** Stages the index. The commit fails as `aborted` if the index has another revision than `before`. */
function setIndex(work: UnitOfWork, organization: string, before: number, next: FieldsOf<StoredIndex>): void {
  const indexes = work.in(IndexCollection, organization)
  if (before === 0) indexes.insert({ id: organization, ...next })
  else indexes.update(organization, { $set: changesOf(next) }, { where: { revision: before } })
}

/** Of length one; undefined for zeros. */
export function unit(values: readonly number[]): Float32Array | undefined {
  const length = Math.hypot(...values)
  return length > 0 ? Float32Array.from(values, (value) => value / length) : undefined
}

/** Eight of one size, where there are so many. */
function mergeable(segments: readonly Listed[]): Listed[] {
  const bySize = new Map<number, Listed[]>()
  for (const one of segments) {
    if (one.count >= maxMerged) continue
    const size = Math.floor(Math.log(one.count) / Math.log(mergedAtOnce))
    bySize.set(size, [...(bySize.get(size) ?? []), one])
  }
  return [...bySize.values()].find((same) => same.length >= mergedAtOnce)?.slice(0, mergedAtOnce) ?? []
}

function holds(segment: Segment | undefined, removed: ReadonlySet<string>): boolean {
  for (let at = 0; at < (segment?.count ?? 0); at++) if (segment && removed.has(segment.idAt(at))) return true
  return false
}
