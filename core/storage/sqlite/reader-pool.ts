// Reader threads from the main thread's side. A thread answers only look-ups by id, so look-ups never wait for a long query. The
// other threads answer all other reads, one query at a time.
// Threads start on demand. Until the look-up thread starts, the first query thread also answers look-ups. The number of waiting
// reads is bounded.
import type { Json } from "../../contract/collection.ts"
import { AppError } from "../../kernel/errors.ts"
import { parsedJson } from "../../kernel/json.ts"
import { allDone } from "../../kernel/promises.ts"
import { unreadableDocument } from "./damage.ts"
import { StoreThread } from "./thread.ts"
import type { FileFault, ReaderData, ReaderReply, ReaderRequest, WireError, WireRead } from "./wire.ts"

interface Asked {
  readonly query: WireRead
  readonly resolve: (answer: Json) => void
  readonly reject: (error: AppError) => void
}

const maxWaiting = 10_000
const lookUpsAtOnce = 64
/** Milliseconds of waiting before another thread starts, because a start takes longer than most queries. */
const startAfterMs = 5

/** Reads in a single request to a thread. */
interface Batch {
  readonly asked: readonly Asked[]
  settled: number
  /** Lists of the unfinished answer. undefined for a text that is not JSON. */
  lists: (readonly Json[] | undefined)[]
}

type Answer = number | WireError | readonly Json[] | "unreadable" | undefined

class Lane {
  readonly #pool: { unreadable(table: string): void; settle(asked: Asked, answer: Answer): void }
  readonly #data: ReaderData
  #thread: StoreThread<ReaderRequest, ReaderReply> | undefined
  #inHand: Batch | undefined

  constructor(pool: ReaderPool, data: ReaderData) {
    this.#pool = pool
    this.#data = data
  }

  get idle(): boolean {
    return this.#inHand === undefined
  }

  get started(): boolean {
    return this.#thread !== undefined
  }

  take(queue: Asked[], most: number, then: () => void): void {
    const asked = queue.splice(0, most)
    this.#inHand = { asked, settled: 0, lists: [] }
    this.#thread ??= this.#start(then)
    this.#thread.ask(asked.map(({ query }) => query))
  }

  /** Aborts a running query. */
  async stop(): Promise<void> {
    const thread = this.#thread
    this.#thread = undefined
    await (this.idle ? thread?.close() : thread?.kill())
  }

  #start(then: () => void): StoreThread<ReaderRequest, ReaderReply> {
    const thread = new StoreThread<ReaderRequest, ReaderReply>(new URL("./reader.ts", import.meta.url), {
      name: "millrace-reader",
      data: this.#data,
      onReply: (reply) => {
        const batch = this.#inHand
        // Delayed, so each reply is parsed in its own turn.
        if (reply.hasMore) setImmediate(() => this.#thread === thread && thread.ask("more"))
        else {
          this.#inHand = undefined
          then()
        }
        for (const table of reply.unreadable) this.#pool.unreadable(table)
        if (batch) this.#settle(batch, reply)
      },
      onDeath: (error) => {
        const batch = this.#inHand
        this.#inHand = undefined
        if (this.#thread === thread) this.#thread = undefined
        for (const each of batch?.asked.slice(batch.settled) ?? []) each.reject(unavailable(`A reading thread failed: ${error.message}.`))
        then()
      },
    })
    return thread
  }

  #settle(batch: Batch, { answers, isCut, hasMore }: ReaderReply): void {
    for (const [at, answer] of answers.entries()) {
      if (typeof answer === "string") batch.lists.push(parsedJson(answer) as Json[] | undefined)
      if (isCut && at === answers.length - 1) return
      const each = batch.asked[batch.settled++]
      const { lists } = batch
      batch.lists = []
      if (each) this.#pool.settle(each, typeof answer === "string" ? joined(lists) : answer)
    }
    if (!hasMore) for (const each of batch.asked.slice(batch.settled)) this.#pool.settle(each, undefined)
  }
}

export interface ReaderHooks {
  /** The file has become unreadable. */
  readonly onFault: (fault: FileFault) => void
  /** Documents of a table were omitted from an answer, because their text is not JSON. */
  readonly onUnreadable: (table: string) => void
}

export class ReaderPool {
  readonly #lookUps: Lane
  readonly #others: readonly Lane[]
  readonly #waitingLookUps: Asked[] = []
  readonly #waitingOthers: Asked[] = []
  readonly #hooks: ReaderHooks
  #starting: NodeJS.Timeout | undefined
  #sending = false
  #stopped = false

  constructor(data: ReaderData, readers: number, hooks: ReaderHooks) {
    this.#hooks = hooks
    this.#lookUps = new Lane(this, data)
    this.#others = Array.from({ length: readers }, () => new Lane(this, data))
  }

  ask(query: WireRead): Promise<Json> {
    if (this.#stopped) return Promise.reject(unavailable("Storage is stopped."))
    const isLookUp = "lookUp" in query
    const queue = isLookUp ? this.#waitingLookUps : this.#waitingOthers
    if (queue.length >= maxWaiting)
      return Promise.reject(unavailable(`Storage is overloaded: ${queue.length} reads are waiting. Retry shortly.`, "overloaded"))
    return new Promise((resolve, reject) => {
      queue.push({ query, resolve, reject })
      if (isLookUp) this.#sendLater()
      else this.#send()
    })
  }

  async stop(): Promise<void> {
    this.#stopped = true
    clearTimeout(this.#starting)
    for (const asked of [...this.#waitingLookUps.splice(0), ...this.#waitingOthers.splice(0)])
      asked.reject(unavailable("Storage is stopped."))
    await allDone([this.#lookUps, ...this.#others].map((lane) => lane.stop()))
  }

  unreadable(table: string): void {
    this.#hooks.onUnreadable(table)
  }

  settle({ query, resolve, reject }: Asked, answer: Answer): void {
    if (answer === "unreadable") {
      if ("lookUp" in query) reject(unreadableDocument(query.lookUp))
      else if (!("table" in query)) reject(unavailable("A reading thread gave no list."))
      else this.ask({ ...query, soundOnly: true }).then(resolve, reject)
    } else if (answer === undefined) reject(unavailable("A reading thread did not respond."))
    else if (typeof answer === "number" || isList(answer)) resolve(answer as Json)
    else {
      if (answer.details.reason === "storage_corrupt") this.#hooks.onFault({ reason: "storage_corrupt", message: answer.message })
      reject(AppError.from(answer, answer.code === "unavailable" ? { retryAfterS: 1 } : {}))
    }
  }

  /** Delayed, because a wake-up of the thread costs more than a read, and the same turn may add look-ups. */
  #sendLater(): void {
    if (this.#sending) return
    this.#sending = true
    setImmediate(() => {
      this.#sending = false
      this.#send()
    })
  }

  readonly #send = (): void => {
    if (this.#stopped) return
    if (this.#lookUps.started) this.#giveLookUps(this.#lookUps)
    let running = 0
    for (const lane of this.#others) {
      if (!lane.started) continue
      running++
      if (!this.#lookUps.started) this.#giveLookUps(lane)
      this.#give(lane)
    }
    if (running === 0) this.#startOne()
    else if (this.#lacksLookUps() || (this.#waitingOthers.length > 0 && running < this.#others.length))
      this.#starting ??= setTimeout(() => this.#startOne(), startAfterMs)
  }

  #lacksLookUps(): boolean {
    return this.#waitingLookUps.length > 0 && !this.#lookUps.started
  }

  #startOne(): void {
    this.#starting = undefined
    const lane = this.#others.find(({ started }) => !started)
    if (this.#lacksLookUps()) this.#giveLookUps(lane && lane === this.#others[0] ? lane : this.#lookUps)
    if (lane) this.#give(lane)
  }

  #giveLookUps(lane: Lane): void {
    if (this.#waitingLookUps.length > 0 && lane.idle) lane.take(this.#waitingLookUps, lookUpsAtOnce, this.#send)
  }

  #give(lane: Lane): void {
    if (this.#waitingOthers.length > 0 && lane.idle) lane.take(this.#waitingOthers, 1, this.#send)
  }
}

/** Joins the lists of an answer. Most answers have a single list. */
function joined(lists: readonly (readonly Json[] | undefined)[]): readonly Json[] | "unreadable" {
  const sound = lists.filter((list) => list !== undefined)
  if (sound.length < lists.length) return "unreadable"
  return sound.length === 1 ? (sound[0] ?? []) : sound.flat()
}

function isList(answer: readonly Json[] | WireError): answer is readonly Json[] {
  return Array.isArray(answer)
}

function unavailable(message: string, reason: "overloaded" | "storage_unavailable" = "storage_unavailable"): AppError {
  return new AppError("unavailable", message, { reason }, { retryAfterS: 1 })
}
