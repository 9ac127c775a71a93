// The main thread's end of the readers. One thread answers look-ups by id only, so that none waits behind a long
// query; the others answer everything else, one query at a time. What waits is bounded by number.
import { Worker } from "node:worker_threads"
import type { Json } from "../../contract/collection.ts"
import { AppError } from "../../kernel/errors.ts"
import type { ReaderReply, WireError, WireOrganizations, WireQuery } from "./wire.ts"

interface Asked {
  readonly query: WireQuery | WireOrganizations
  readonly resolve: (answer: Json) => void
  readonly reject: (error: AppError) => void
}

const mostWaiting = 10_000
const lookUpsAtOnce = 64

class Lane {
  readonly #file: string
  readonly #most: number
  #worker: Worker | undefined
  #inHand: readonly Asked[] = []

  constructor(file: string, most: number) {
    this.#file = file
    this.#most = most
  }

  get idle(): boolean {
    return this.#inHand.length === 0
  }

  take(queue: Asked[], then: () => void): void {
    this.#inHand = queue.splice(0, this.#most)
    this.#worker ??= this.#start(then)
    this.#worker.postMessage(this.#inHand.map((asked) => asked.query))
  }

  async stop(): Promise<void> {
    const worker = this.#worker
    this.#worker = undefined
    await worker?.terminate()
  }

  #start(then: () => void): Worker {
    const worker = new Worker(new URL("./reader.ts", import.meta.url), { workerData: { file: this.#file }, name: "millrace-reader" })
    worker.on("message", ({ answers }: ReaderReply) => {
      const asked = this.#inHand
      this.#inHand = []
      then()
      for (const [index, each] of asked.entries()) settle(each, answers[index])
    })
    let cause = "it ended"
    worker.on("error", (error) => {
      cause = String(error)
    })
    worker.on("exit", () => {
      const asked = this.#inHand
      this.#inHand = []
      if (this.#worker === worker) this.#worker = undefined
      for (const each of asked) each.reject(unavailable(`A reading thread failed: ${cause}.`))
      then()
    })
    return worker
  }
}

export class ReaderPool {
  readonly #lookUps: Lane
  readonly #others: readonly Lane[]
  readonly #waitingLookUps: Asked[] = []
  readonly #waitingOthers: Asked[] = []
  #stopped = false

  constructor(file: string, readers: number) {
    this.#lookUps = new Lane(file, lookUpsAtOnce)
    this.#others = Array.from({ length: readers }, () => new Lane(file, 1))
  }

  ask(query: WireQuery | WireOrganizations): Promise<Json> {
    if (this.#stopped) return Promise.reject(unavailable("Storage is stopped."))
    // A look-up is narrowed by id alone, and exactly.
    const byId = "narrow" in query && query.filter === undefined && query.narrow.length === 1
    const queue = byId ? this.#waitingLookUps : this.#waitingOthers
    if (queue.length >= mostWaiting)
      return Promise.reject(unavailable(`Storage is behind: ${queue.length} reads wait. Try again in a moment.`))
    return new Promise((resolve, reject) => {
      queue.push({ query, resolve, reject })
      this.#send()
    })
  }

  async stop(): Promise<void> {
    this.#stopped = true
    for (const asked of [...this.#waitingLookUps.splice(0), ...this.#waitingOthers.splice(0)])
      asked.reject(unavailable("Storage is stopped."))
    await Promise.all([this.#lookUps, ...this.#others].map((lane) => lane.stop()))
  }

  readonly #send = (): void => {
    if (this.#stopped) return
    if (this.#waitingLookUps.length > 0 && this.#lookUps.idle) this.#lookUps.take(this.#waitingLookUps, this.#send)
    for (const lane of this.#others) {
      if (this.#waitingOthers.length === 0) return
      if (lane.idle) lane.take(this.#waitingOthers, this.#send)
    }
  }
}

function settle({ resolve, reject }: Asked, answer: string | number | WireError | undefined): void {
  if (typeof answer === "number") resolve(answer)
  else if (typeof answer === "string") resolve(JSON.parse(answer) as Json)
  else if (answer) {
    const retry = answer.code === "unavailable" ? { retryAfterS: 1 } : {}
    reject(new AppError(answer.code, answer.message, answer.details, retry))
  } else reject(unavailable("A reading thread gave no answer."))
}

function unavailable(message: string): AppError {
  return new AppError("unavailable", message, { reason: "storage_down" }, { retryAfterS: 1 })
}
