// The main thread's end of the index thread. The thread starts when it is first needed. One that runs out of memory fails
// the tasks that it has, and the next task starts another.
import { Worker } from "node:worker_threads"
import { AppError, token } from "#core"
import { type IndexedItem, Segment } from "./segment.ts"

export interface ItemToIndex extends Omit<IndexedItem, "words"> {
  readonly title: string
  readonly description: string
  readonly text: string
}

/** A segment to build: of new items, or of what stored segments hold. */
export type IndexTask = { readonly number: number } & (
  | { readonly fresh: readonly ItemToIndex[] }
  | { readonly segments: readonly Uint8Array[]; readonly removed: readonly string[] }
)

export interface IndexAnswer {
  readonly number: number
  /** As it is stored. Absent if no item is left. */
  readonly segment?: Uint8Array
}

type Work = IndexTask extends infer One ? (One extends IndexTask ? Omit<One, "number"> : never) : never

const memory = { maxOldGenerationSizeMb: 2_048 }

export const IndexWorkerToken = token<IndexWorker>("KnowledgeIndexWorker")

export class IndexWorker {
  readonly #waiting = new Map<number, PromiseWithResolvers<Segment | undefined>>()
  #thread: Worker | undefined
  #last = 0

  /** Builds a segment of new items. */
  index(fresh: readonly ItemToIndex[]): Promise<Segment | undefined> {
    return this.#run({ fresh })
  }

  /** Builds one segment of several, without the removed items. Returns undefined if no item is left. */
  merge(segments: readonly Segment[], removed: readonly string[]): Promise<Segment | undefined> {
    return this.#run({ segments: segments.map((segment) => segment.stored()), removed })
  }

  async stop(): Promise<void> {
    const thread = this.#thread
    this.#fail(new AppError("unavailable", "The service is stopping.", { reason: "stopping" }))
    await thread?.terminate()
  }

  #run(work: Work): Promise<Segment | undefined> {
    const number = ++this.#last
    const made = Promise.withResolvers<Segment | undefined>()
    this.#waiting.set(number, made)
    this.#started().postMessage({ ...work, number })
    return made.promise
  }

  #started(): Worker {
    if (this.#thread) return this.#thread
    const url = new URL("./index-thread.ts", import.meta.url)
    const thread = new Worker(url, { name: "millrace-knowledge", resourceLimits: memory, env: {} })
    thread.unref()
    thread.on("message", ({ number, segment }: IndexAnswer) => {
      this.#waiting.get(number)?.resolve(segment && Segment.read(segment))
      this.#waiting.delete(number)
    })
    thread.on("error", (cause) => {
      if (thread === this.#thread) this.#fail(new Error("The index thread failed.", { cause }))
    })
    this.#thread = thread
    return thread
  }

  #fail(reason: Error): void {
    this.#thread = undefined
    for (const { reject } of this.#waiting.values()) reject(reason)
    this.#waiting.clear()
  }
}
