// Writer thread from the main thread's side. Requests are answered in order. If the thread dies, a new thread starts and receives
// the unanswered requests again. The file remembers commits, so a commit is never lost or repeated.
import type { CollectionSpec } from "../../contract/collection.ts"
import { AppError } from "../../kernel/errors.ts"
import type { FileSettings } from "./layout.ts"
import type { OwnerOptions } from "./owner.ts"
import { StoreThread } from "./thread.ts"
import type { FileFault, SentRequest, WriterReply, WriterRequest } from "./wire.ts"

interface Outstanding {
  readonly request: WriterRequest
  readonly resolve: (reply: WriterReply) => void
  readonly reject: (error: AppError) => void
}

export type WriterHooks = Pick<OwnerOptions, "onWriterDeath" | "onLost" | "onFault">

/** Maximum consecutive deaths without an answer. After that the waiting requests fail. */
const maxDeaths = 3

export class WriterThread {
  readonly #settings: FileSettings & { readonly collections: readonly CollectionSpec[] }
  readonly #outstanding = new Map<number, Outstanding>()
  readonly #hooks: WriterHooks
  #thread: StoreThread<SentRequest, WriterReply> | undefined
  #starting: Promise<void> | undefined
  #seq = 0
  #deaths = 0
  #stopped = false

  constructor(settings: FileSettings, collections: readonly CollectionSpec[], hooks: WriterHooks) {
    this.#settings = { ...settings, collections: collections.map(({ document: _, restore: __, sealed: ___, ...spec }) => ({ ...spec })) }
    this.#hooks = hooks
  }

  /** Starts the thread. Throws if the file cannot be opened or laid out. */
  start(): Promise<void> {
    this.#starting ??= new Promise<void>((resolve, reject) => {
      const thread = new StoreThread<SentRequest, WriterReply>(new URL("./writer.ts", import.meta.url), {
        name: "millrace-writer",
        data: this.#settings,
        onReply: (reply) => {
          if (reply.seq === 0) {
            this.#thread = thread
            if (reply.lost) this.#hooks.onLost(reply.lost)
            for (const [seq, { request }] of this.#outstanding) thread.ask({ seq, request })
            resolve()
          } else this.#settle(reply)
        },
        onDeath: (error) => {
          reject(error)
          this.#ended(error)
        },
      })
    })
    return this.#starting
  }

  /** Throws `unavailable` if the disk refused the request or the thread cannot be kept alive. The request may then be repeated. */
  ask(request: WriterRequest): Promise<WriterReply> {
    if (this.#stopped) return Promise.reject(unavailable("Storage is stopped."))
    return new Promise((resolve, reject) => {
      const seq = ++this.#seq
      this.#outstanding.set(seq, { request, resolve, reject })
      if (this.#thread) this.#thread.ask({ seq, request })
      else this.#restart()
    })
  }

  /** Kills the thread like a crash, for tests. */
  async kill(): Promise<void> {
    await this.#thread?.kill()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await this.#starting?.catch(() => undefined)
    const thread = this.#thread
    this.#thread = undefined
    await thread?.close()
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
    this.#thread = undefined
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
    // The thread's end counts and reports the failure.
    this.start().catch(() => undefined)
  }

  #giveUp(message: string): void {
    const given = [...this.#outstanding.values()]
    this.#outstanding.clear()
    for (const { reject } of given) reject(unavailable(message))
  }
}

/** Returns the error of a fault. */
export function faulty({ reason, message }: FileFault): AppError {
  return new AppError("unavailable", message, { reason }, { retryAfterS: 30 })
}

function unavailable(message: string, reason: "storage_full" | "storage_unavailable" = "storage_unavailable"): AppError {
  return new AppError("unavailable", message, { reason }, { retryAfterS: 5 })
}
