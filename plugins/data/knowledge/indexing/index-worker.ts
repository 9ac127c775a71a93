// The main thread's end of the index thread. The thread starts when it is first needed. One that runs out of memory fails
// the tasks that it has, and the next draft starts another. Texts and segments pass in pieces, one at a time: a message of
// a whole segment would hold the main thread.
import { AppError, token } from "#core"
import { ConfinedThread, OnDemand } from "#core/engine"
import type { BuiltSegment } from "./built-segment.ts"
import { type IndexedItem, type Packed, Segment } from "./segment.ts"

export interface ItemToIndex extends Omit<IndexedItem, "words"> {
  readonly title: string
  readonly description: string
  readonly text: string
}

/** Each task has one answer, with its `id`. */
export type IndexTask = { readonly id: number; readonly draft: number } & Work

type Work =
  | { readonly item: ItemToIndex }
  /** Of a stored segment. */
  | { readonly part: string }
  /** All parts of a stored segment came. */
  | { readonly endsSegment: true }
  /** Builds one segment, without these items. */
  | { readonly removed: readonly string[] }
  /** The number of a part of the built segment. */
  | { readonly read: number }
  /** Opens the segment whose parts came. */
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

  /** Runs `use` with a new draft in the thread, and drops the draft at its end. */
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

/** A segment that the thread makes of items and of stored segments. */
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

  /** Returns undefined if no item is left. */
  async build(removed: Iterable<string> = []): Promise<BuiltSegment | undefined> {
    return (await this.#ask({ removed: [...removed] })) as BuiltSegment | undefined
  }

  /** A part of the built segment. */
  async part(number: number): Promise<string> {
    return (await this.#ask({ read: number })) as string
  }

  /** The segment whose parts were added. */
  async open(): Promise<Segment> {
    return new Segment((await this.#ask({ opens: true })) as Packed)
  }
}
