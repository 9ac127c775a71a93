// The main thread's end of the writer. Requests are answered in order. When the thread dies another is started and
// what was not answered is handed to it again; commits are remembered in the file, so none is lost or done twice.
import { Worker } from "node:worker_threads"
import type { CollectionSpec } from "../../contract/collection.ts"
import { AppError } from "../../kernel/errors.ts"
import type { FileSettings } from "./layout.ts"
import type { OwnerOptions } from "./owner.ts"
import type { FileFault, WriterReply, WriterRequest } from "./wire.ts"

interface Outstanding {
  readonly request: WriterRequest
  readonly resolve: (reply: WriterReply) => void
  readonly reject: (error: AppError) => void
}

export type WriterHooks = Pick<OwnerOptions, "onWriterDeath" | "onLost" | "onFault">

/** Deaths in a row, without an answer between them, after which what waits is given up. */
const maxDeaths = 3

export class WriterThread {
  readonly #settings: FileSettings & { readonly collections: readonly CollectionSpec[] }
  readonly #outstanding = new Map<number, Outstanding>()
  readonly #hooks: WriterHooks
  #worker: Worker | undefined
  #starting: Promise<void> | undefined
  #seq = 0
  #deaths = 0
  #stopped = false

  constructor(settings: FileSettings, collections: readonly CollectionSpec[], hooks: WriterHooks) {
    this.#settings = { ...settings, collections: collections.map(({ document: _, restore: __, sealed: ___, ...spec }) => ({ ...spec })) }
    this.#hooks = hooks
  }

  /** Starts the thread; throws when the file cannot be opened or laid out. */
  start(): Promise<void> {
    this.#starting ??= new Promise<void>((resolve, reject) => {
      const worker = new Worker(new URL("./writer.ts", import.meta.url), { workerData: this.#settings, name: "millrace-writer" })
      let cause: unknown
      worker.on("message", (reply: WriterReply) => {
        if (reply.seq === 0) {
          this.#worker = worker
          if (reply.lost) this.#hooks.onLost(reply.lost)
          for (const [seq, { request }] of this.#outstanding) worker.postMessage({ seq, request })
          resolve()
        } else this.#settle(reply)
      })
      worker.on("error", (error) => {
        cause = error
      })
      worker.on("exit", (code) => {
        const error = cause instanceof Error ? cause : new Error(`The writer thread ended with code ${code}.`)
        reject(error)
        this.#ended(error)
      })
    })
    return this.#starting
  }

  /** Throws `unavailable` when the disk refused it or the thread cannot be kept alive; it may then be repeated. */
  ask(request: WriterRequest): Promise<WriterReply> {
    if (this.#stopped) return Promise.reject(unavailable("Storage is stopped."))
    return new Promise((resolve, reject) => {
      const seq = ++this.#seq
      this.#outstanding.set(seq, { request, resolve, reject })
      if (this.#worker) this.#worker.postMessage({ seq, request })
      else this.#restart()
    })
  }

  /** For tests: kills the thread as a crash would. */
  async kill(): Promise<void> {
    await this.#worker?.terminate()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    const worker = this.#worker
    if (!worker) return
    const ended = new Promise<void>((resolve) => worker.once("exit", () => resolve()))
    worker.postMessage({ seq: 0, request: "close" })
    await ended
  }

  #settle(reply: WriterReply): void {
    const outstanding = this.#outstanding.get(reply.seq)
    this.#outstanding.delete(reply.seq)
    this.#deaths = 0
    this.#hooks.onFault(reply.fault)
    if (reply.failure === undefined) outstanding?.resolve(reply)
    else if (reply.fault) outstanding?.reject(faulty(reply.fault))
    else outstanding?.reject(unavailable(`Storage could not write: ${reply.failure}.`, reply.full ? "storage_full" : undefined))
  }

  #ended(error: Error): void {
    this.#worker = undefined
    this.#starting = undefined
    if (this.#stopped) {
      this.#giveUp("Storage is stopped.")
      return
    }
    this.#hooks.onWriterDeath(error)
    if (++this.#deaths > maxDeaths) {
      this.#deaths = 0
      this.#giveUp(`Storage cannot be restarted: ${error.message}`)
    } else if (this.#outstanding.size > 0) this.#restart()
  }

  #restart(): void {
    // A failure is counted and reported where the thread's end is seen.
    this.start().catch(() => undefined)
  }

  #giveUp(message: string): void {
    const given = [...this.#outstanding.values()]
    this.#outstanding.clear()
    for (const { reject } of given) reject(unavailable(message))
  }
}

/** What is refused because of a fault. */
export function faulty({ reason, message }: FileFault): AppError {
  return new AppError("unavailable", message, { reason }, { retryAfterS: 30 })
}

function unavailable(message: string, reason: "storage_full" | "storage_unavailable" = "storage_unavailable"): AppError {
  return new AppError("unavailable", message, { reason }, { retryAfterS: 5 })
}
