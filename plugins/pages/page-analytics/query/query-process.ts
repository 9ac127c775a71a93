// A query process of one organization. Another organization never gets this process.
import { ConfinedChild, type Exit, PeerLost } from "#core/engine"
import { type QueryAnswer, type QueryTable, type QueryTask, ready } from "./protocol.ts"

export interface ProcessLimits {
  readonly threads: number
  /** Memory of the engine's own buffers; the process gets `overheadMb` more. */
  readonly memoryMb: number
  readonly deadlineMs: number
  /** Folder of compiled code. It halves the time of a start. Absent: no cache. */
  readonly codeCache?: string
  /** Timeout of a start, and of opening an engine after each query. Default: 30 s. */
  readonly startMs?: number
}

export type QueryOutcome =
  | { readonly kind: "table"; readonly table: QueryTable }
  /** Refused by the engine or by the allowlist; the process continues. */
  | { readonly kind: "refused"; readonly message: string }
  /** The process has ended. */
  | { readonly kind: "memory" | "deadline" | "crashed"; readonly message: string }
  /** The process never received the query. */
  | { readonly kind: "unstarted"; readonly message: string }

/** A struct member named `__proto__` is an ordinary value. The engine's library would otherwise assign it to the accessor. */
const flags = ["--disable-proto=delete"]
/** Resident memory of a process beyond the engine's buffers. */
const overheadMb = 384
/** Memory mapped by a process before any query, most of it never resident: 700 MB measured, plus a reserve. */
const mappedMb = 1_024
const defaultStartMs = 30_000

export class QueryProcess {
  readonly #limits: ProcessLimits
  readonly #child: ConfinedChild
  #isReady = false
  #readiness = Promise.withResolvers<void>()
  #cancelStart = () => {}

  constructor(limits: ProcessLimits) {
    this.#limits = limits
    const { threads, memoryMb, codeCache } = limits
    this.#child = new ConfinedChild({
      name: "query process",
      main: new URL("./query-main.ts", import.meta.url),
      flags,
      parameters: [String(threads), String(memoryMb)],
      codeCache,
      limits: { dataMb: memoryMb + mappedMb },
      onMessage: (message) => message === ready && this.#opened(),
    })
    this.#limitStart()
  }

  /** True if the process can run a query. */
  get alive(): boolean {
    return this.#child.isAlive
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  /** Resolves when the process has an engine open for the next query, or has ended. */
  get ready(): Promise<unknown> {
    return Promise.race([this.#readiness.promise, this.#child.ended])
  }

  /** The deadline starts when the process is ready. It includes reading the segments and parsing. */
  async run(task: Omit<QueryTask, "id">): Promise<QueryOutcome> {
    await this.ready
    if (!this.alive) return this.#lost(await this.#child.ended, false)
    const { deadlineMs, memoryMb } = this.#limits
    this.#isReady = false
    this.#readiness = Promise.withResolvers()
    try {
      const limits = { deadlineMs, memoryMb: memoryMb + overheadMb }
      const answer = await this.#child.within(limits, () => this.#child.ask<QueryAnswer>(task))
      // "ready" can arrive together with the answer.
      if (!this.#isReady) this.#limitStart()
      const outcome = outcomeOf(answer, memoryMb)
      // The query's memory may be missing for the next engine.
      if (outcome.kind === "memory") this.kill()
      return outcome
    } catch (error) {
      if (error instanceof PeerLost) return this.#lost(error.exit, true)
      throw error
    }
  }

  /** Starts the timeout for opening the next engine. */
  #limitStart(): void {
    this.#cancelStart = this.#child.deadline(this.#limits.startMs ?? defaultStartMs, "start")
  }

  #opened(): void {
    this.#isReady = true
    this.#cancelStart()
    this.#readiness.resolve()
  }

  kill(): void {
    this.#child.kill()
  }

  stop(): Promise<void> {
    return this.#child.stop()
  }

  #lost({ killed, stderr }: Exit, wasSent: boolean): QueryOutcome {
    const { deadlineMs, memoryMb } = this.#limits
    if (!wasSent && (killed === "start" || killed === undefined))
      return { kind: "unstarted", message: stderr.trim() || "It took too long." }
    if (killed === "deadline")
      return { kind: "deadline", message: `The query timed out after ${deadlineMs} ms; query fewer days or columns.` }
    if (killed === "memory" || /out of memory|bad_alloc|allocation failed/i.test(stderr)) return outOfMemory(memoryMb)
    return { kind: "crashed", message: "The query crashed the engine; rewrite it." }
  }
}

function outcomeOf(answer: QueryAnswer, memoryMb: number): QueryOutcome {
  if ("table" in answer) return { kind: "table", table: answer.table }
  return answer.memory ? outOfMemory(memoryMb) : { kind: "refused", message: answer.refused }
}

function outOfMemory(memoryMb: number): QueryOutcome {
  return { kind: "memory", message: `The query needed more than ${memoryMb} MiB of memory and was stopped.` }
}
