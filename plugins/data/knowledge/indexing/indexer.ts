// Updates an organization's index. Due items become a new segment. Small segments are merged in groups of eight, and segments
// with deleted items are rewritten without them. One commit replaces the segments and marks the items as indexed. If two nodes
// change an index at once, the second starts again.
import {
  AppError,
  type Clock,
  giveWay,
  type Ids,
  type JobQueue,
  type Logger,
  type Store,
  token,
  type UnitOfWork,
  type UnitsOfWork,
} from "#core"
import { mergedAtOnce, segmentsToMerge } from "#core/search"
import type { Models } from "../../../agents/models/index.ts"
import { indexRef, RemovalCollection, VersionCollection, versionId } from "../collections.ts"
import { ItemCollection, type StoredItem } from "../item.ts"
import { IndexChange, type Listed, removeUnfinished } from "./index-change.ts"
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
/** A segment with this many items is not merged further. */
const maxMerged = 4_096
const embeddedCharacters = 6_000
/** Items compared in one turn. Other work runs in between. */
const itemsAtOnce = 1_000
const embeddedAtOnce = 64
const vectorRetryMs = 300_000

export const IndexerToken = token<Indexer>("KnowledgeIndexer")

export class Indexer {
  readonly #deps: IndexerDeps

  constructor(deps: IndexerDeps) {
    this.#deps = deps
  }

  /** Stages the indexing of due items. */
  soon(work: UnitOfWork, organization: string): void {
    this.#deps.queue.enqueue(work, indexRef, {}, { organization })
  }

  /** Indexes until no items are due. Throws `aborted` if another node was faster. */
  async run(organization: string, log: Logger): Promise<void> {
    for (;;) {
      // Read the removals first. An item deleted after this point is removed from the index in the next round.
      const removed = await this.#deps.store.open(RemovalCollection, organization).find({}, { limit: maxItems })
      const due = await this.#due(organization)
      if (due.length === 0 && removed.length === 0) return await removeUnfinished(this.#deps, organization)
      await this.#step(organization, due, new Set(removed.map(({ id }) => id)), log)
    }
  }

  /** Stages another indexing of items without a vector. */
  async retryVectors(work: UnitOfWork, organization: string): Promise<void> {
    const items = await this.#deps.store.open(ItemCollection, organization).find({ vector_due: true }, { limit: 4 * maxItems })
    const collection = work.in(ItemCollection, organization)
    for (const { id } of items) collection.update(id, { $set: { index_due: true, vector_due: false } }, { optional: true })
    if (items.length > 0) this.soon(work, organization)
  }

  async #step(organization: string, due: readonly StoredItem[], removed: ReadonlySet<string>, log: Logger): Promise<void> {
    const { works, segments, queue, clock, thread } = this.#deps
    const index = await segments.index(organization)
    const change = new IndexChange(this.#deps, organization, index)
    const fresh = await this.#texts(organization, due, index.revision + 1)
    const embedded = await this.#embedded(organization, fresh, log)
    const replace = async (which: readonly Listed[]) => {
      change.remove(which)
      await thread.draft(async (draft) => {
        for (const segment of which) {
          for await (const part of segments.parts(organization, segment)) await draft.addPart(part)
          await draft.endSegment()
        }
        await change.add(draft, removed)
      })
    }
    if (removed.size > 0) {
      const open = await segments.open(organization, index)
      for (const segment of index.segments) if (await holds(open.get(segment.id), removed)) await replace([segment])
    }
    if (embedded.length > 0) {
      await thread.draft(async (draft) => {
        for (const { item } of embedded) await draft.add(item)
        await change.add(draft)
      })
    }
    // New segments are merged in the next round.
    const merged = segmentsToMerge([...change.kept, ...change.added], ({ count }) => count, { maxSize: maxMerged })
    if (merged.length === mergedAtOnce && merged.every((segment) => change.kept.includes(segment))) await replace(merged)
    await works.run((work) => {
      change.stage(work)
      const items = work.in(ItemCollection, organization)
      for (const { stored, hasVector, item } of embedded) {
        const isVectorDue = !hasVector && this.#deps.models.embedding() !== undefined
        const $set = { entry: item.entry, index_due: false, vector_due: isVectorDue }
        // An item changed in the meantime stays due.
        const where = { revision: stored.revision, content_version: stored.content_version }
        items.update(stored.id, { $set }, { where, optional: true })
        if (isVectorDue) queue.enqueue(work, indexRef, { vectors: true }, { organization, runAt: clock.now() + vectorRetryMs })
      }
      for (const id of removed) work.in(RemovalCollection, organization).remove(id, { optional: true })
    })
  }

  async #due(organization: string): Promise<StoredItem[]> {
    const items = await this.#deps.store.open(ItemCollection, organization).find({ index_due: true }, { sort: { id: 1 }, limit: maxItems })
    let characters = 0
    return items.filter((item, place) => {
      characters += item.characters
      return characters <= maxCharacters || place === 0
    })
  }

  async #texts(organization: string, items: readonly StoredItem[], entry: number): Promise<Fresh[]> {
    const versions = this.#deps.store.open(VersionCollection, organization)
    const fresh: Fresh[] = []
    for (const stored of items) {
      const text = (await versions.get(versionId(stored.id, stored.content_version)))?.text ?? ""
      const { id, category, type, title, description } = stored
      fresh.push({ stored, item: { id, entry, category, type, title, description, text } })
      await giveWay()
    }
    return fresh
  }

  /** Adds vectors if a model is configured and responds. */
  async #embedded(organization: string, fresh: readonly Fresh[], log: Logger): Promise<(Fresh & { readonly hasVector: boolean })[]> {
    const { models } = this.#deps
    const vectors: (Float32Array | undefined)[] = []
    if (models.embedding()) {
      for (let at = 0; at < fresh.length; at += embeddedAtOnce) {
        const part = fresh.slice(at, at + embeddedAtOnce)
        const texts = part.map(({ item }) =>
          `${item.title}\n${item.description}\n${item.text.slice(0, embeddedCharacters)}`.slice(0, embeddedCharacters),
        )
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

/** Returns a vector of length one, or undefined for zeros. */
export function unit(values: readonly number[]): Float32Array | undefined {
  const length = Math.hypot(...values)
  return length > 0 ? Float32Array.from(values, (value) => value / length) : undefined
}

async function holds(segment: Segment | undefined, removed: ReadonlySet<string>): Promise<boolean> {
  for (let at = 0; at < (segment?.count ?? 0); at++) {
    if (at % itemsAtOnce === 0) await giveWay()
    if (segment && removed.has(segment.idAt(at))) return true
  }
  return false
}
