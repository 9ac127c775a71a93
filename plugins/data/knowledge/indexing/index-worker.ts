// Main-thread interface of the index thread. The thread starts on first use. If it runs out of memory, its tasks fail, and the
// next draft starts a new thread. Texts and segments are sent in pieces, one at a time. A message with a whole segment would
// block the main thread.
import { AppError, token } from "#core"
import { ConfinedThread, OnDemand } from "#core/engine"
import type { BuiltSegment } from "./built-segment.ts"
import { type IndexedItem, type Packed, Segment } from "./segment.ts"

export interface ItemToIndex extends Omit<IndexedItem, "words"> {
  readonly title: string
  readonly description: string
  readonly text: string
}

/** Each task has one response with the same `id`. */
export type IndexTask = { readonly id: number; readonly draft: number } & Work

type Work =
  | { readonly item: ItemToIndex }
  /** Part of a stored segment. */
  | { readonly part: string }
  /** End of a stored segment's parts. */
  | { readonly endsSegment: true }
  /** Builds one segment without these items. */
  | { readonly removed: readonly string[] }
  /** Requests a part of the built segment by number. */
  | { readonly read: number }
  /** Opens a segment from the received parts. */
  | { readonly opens: true }
  | { readonly ends: true }

export interface IndexAnswer {
  readonly id: number
  readonly value: BuiltSegment | Packed | string | undefined
}

const memory = { maxOldGenerationSizeMb: 2_048 }

export const IndexWorkerToken = token<IndexWorker>("KnowledgeIndexWorker")

export class IndexWorker {
  readonly #threads = new OnDemand(
    () => new ConfinedThread({ main: new URL("./index-thread.ts", import.meta.url), name: "millrace-knowledge", limits: memory }),
  )
  #drafts = 0

  /** Runs `use` with a new draft in the thread, and drops the draft at the end. */
  async draft<T>(use: (draft: Draft) => Promise<T>): Promise<T> {
    return this.#threads.use(async (thread) => {
      const draft = ++this.#drafts
      const ask = async (work: Work) => (await thread.ask<IndexAnswer>({ draft, ...work })).value
      try {
        return await use(new Draft(ask))
      } finally {
        thread.send({ id: 0, draft, ends: true } satisfies IndexTask)
      }
    })
  }

  stop(): Promise<void> {
    return this.#threads.stop(new AppError("unavailable", "The service is stopping.", { reason: "stopping" }))
  }
}

/** A segment built by the thread from items and stored segments. */
export class Draft {
  readonly #ask: (work: Work) => Promise<unknown>

  constructor(ask: (work: Work) => Promise<unknown>) {
    this.#ask = ask
  }

  async add(item: ItemToIndex): Promise<void> {
    await this.#ask({ item })
  }

  async addPart(part: string): Promise<void> {
    await this.#ask({ part })
  }

  /** Ends the parts of one stored segment. */
  async endSegment(): Promise<void> {
    await this.#ask({ endsSegment: true })
  }

  /** Returns undefined if no items are left. */
  async build(removed: Iterable<string> = []): Promise<BuiltSegment | undefined> {
    return (await this.#ask({ removed: [...removed] })) as BuiltSegment | undefined
  }

  /** Returns a part of the built segment. */
  async part(number: number): Promise<string> {
    return (await this.#ask({ read: number })) as string
  }

  /** Opens the segment from the added parts. */
  async open(): Promise<Segment> {
    return new Segment((await this.#ask({ opens: true })) as Packed)
  }
}
