// Segments of each organization, in the store and in memory on each searching node, up to a bound. Every search reads the list of
// segments, so it never uses replaced segments.
import type { Store, UnitOfWork } from "#core"
import { IndexCollection, PartCollection, partId, type StoredIndex } from "../collections.ts"
import { segmentOf } from "./built-segment.ts"
import { IndexWorker } from "./index-worker.ts"
import type { Segment } from "./segment.ts"

class MissingPart extends Error {}

export class Segments {
  readonly #store: Store
  readonly #maxBytes: number
  /** Opens large segments. The indexer builds segments in another thread, so searches do not wait for long texts. */
  readonly #thread: IndexWorker
  /** Segments by organization, least recently used first. */
  readonly #held = new Map<string, Map<string, Promise<Segment>>>()
  readonly #sizes = new Map<string, number>()

  constructor(store: Store, maxBytes: number, thread = new IndexWorker()) {
    this.#store = store
    this.#maxBytes = maxBytes
    this.#thread = thread
  }

  stop(): Promise<void> {
    return this.#thread.stop()
  }

  async index(organization: string): Promise<StoredIndex> {
    const index = await this.#store.open(IndexCollection, organization).get(organization)
    return index ?? { id: organization, segments: [], revision: 0 }
  }

  /** Returns the segments of the current index by ID. */
  async current(organization: string): Promise<Map<string, Segment>> {
    for (let before = -1; ; ) {
      const index = await this.index(organization)
      try {
        return await this.open(organization, index)
      } catch (error) {
        // Segments may have been replaced after the list was read. Read the new list.
        if (!(error instanceof MissingPart) || index.revision === before) throw error
        before = index.revision
      }
    }
  }

  /** Yields the stored parts of one segment. */
  async *parts(organization: string, { id, parts }: { readonly id: string; readonly parts: number }): AsyncGenerator<string> {
    const stored = this.#store.open(PartCollection, organization)
    for (let part = 0; part < parts; part++) {
      const match = await stored.get(partId(id, part))
      if (!match) throw new MissingPart(`A part of the segment ${id} is not stored.`)
      yield match.base64
    }
  }

  /** Returns the segments of the index by ID. */
  async open(organization: string, { segments }: StoredIndex): Promise<Map<string, Segment>> {
    const before = this.#held.get(organization)
    const opened = new Map<string, Promise<Segment>>()
    for (const { id, parts } of segments) opened.set(id, before?.get(id) ?? this.#read(organization, id, parts))
    this.#held.delete(organization)
    this.#held.set(organization, opened)
    try {
      // Await all together, so every rejection has a handler.
      const all = await Promise.all(opened.values())
      const open = new Map([...opened.keys()].map((id, at) => [id, all[at] as Segment]))
      this.#sizes.set(
        organization,
        [...open.values()].reduce((sum, { bytes }) => sum + bytes, 0),
      )
      this.#keepFew(organization)
      return open
    } catch (error) {
      this.#held.delete(organization)
      throw error
    }
  }

  /** Stages parts of a segment, starting with number `from`. */
  stage(work: UnitOfWork, organization: string, id: string, texts: readonly string[], from = 0): void {
    for (const [at, base64] of texts.entries()) work.in(PartCollection, organization).insert({ id: partId(id, from + at), base64 })
  }

  /** Stages the removal of parts. */
  remove(work: UnitOfWork, organization: string, id: string, from: number, end: number): void {
    for (let part = from; part < end; part++) work.in(PartCollection, organization).remove(partId(id, part), { optional: true })
  }

  async #read(organization: string, id: string, parts: number): Promise<Segment> {
    const texts = this.parts(organization, { id, parts })
    if (parts === 1) for await (const text of texts) return segmentOf([Buffer.from(text, "base64")])
    return await this.#thread.draft(async (draft) => {
      for await (const text of texts) await draft.addPart(text)
      return await draft.open()
    })
  }

  #keepFew(used: string): void {
    let bytes = [...this.#sizes.values()].reduce((sum, size) => sum + size, 0)
    for (const organization of this.#held.keys()) {
      if (bytes <= this.#maxBytes) return
      if (organization === used) continue
      bytes -= this.#sizes.get(organization) ?? 0
      this.#held.delete(organization)
      this.#sizes.delete(organization)
    }
  }
}
