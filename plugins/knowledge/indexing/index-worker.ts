// The main thread's end of the index thread. The thread starts when it is first needed. One that runs out of memory fails
// the tasks that it has, and the next task starts another.
import { Worker } from "node:worker_threads"
import { AppError, giveWay, token } from "#core"
import type { BuiltSegment } from "./built-segment.ts"
import type { IndexedItem } from "./segment.ts"

export interface ItemToIndex extends Omit<IndexedItem, "words"> {
  readonly title: string
  readonly description: string
  readonly text: string
}

/** A segment to build: of new items, or of the stored segments that came before under the same number. */
export type IndexTask = { readonly number: number } & Work

type Work =
  | { readonly fresh: readonly ItemToIndex[] }
  /** One segment of a merge. */
  | { readonly parts: readonly string[] }
  | { readonly removed: readonly string[] }

export interface IndexAnswer {
  readonly number: number
  /** Absent if no item is left. */
  readonly segment: BuiltSegment | undefined
}

const memory = { maxOldGenerationSizeMb: 2_048 }

export const IndexWorkerToken = token<IndexWorker>("KnowledgeIndexWorker")

export class IndexWorker {
  readonly #waiting = new Map<number, PromiseWithResolvers<BuiltSegment | undefined>>()
  #thread: Worker | undefined
  #last = 0

  /** Builds a segment of new items. */
  index(fresh: readonly ItemToIndex[]): Promise<BuiltSegment | undefined> {
    return this.#run(++this.#last, { fresh })
  }

  /** Builds one segment of the parts of several, without the removed items. Returns undefined if no item is left. */
  async merge(segments: readonly (readonly string[])[], removed: readonly string[]): Promise<BuiltSegment | undefined> {
    const number = ++this.#last
    const thread = this.#started()
    for (const parts of segments) {
      await giveWay()
      thread.postMessage({ number, parts } satisfies IndexTask)
    }
    if (thread !== this.#thread) throw new Error("The index thread failed.")
    return await this.#run(number, { removed })
  }

  async stop(): Promise<void> {
    const thread = this.#thread
    this.#fail(new AppError("unavailable", "The service is stopping.", { reason: "stopping" }))
    await thread?.terminate()
  }

  #run(number: number, work: Work): Promise<BuiltSegment | undefined> {
    const made = Promise.withResolvers<BuiltSegment | undefined>()
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
      this.#waiting.get(number)?.resolve(segment)
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
