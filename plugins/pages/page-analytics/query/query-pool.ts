// Pool of query processes. Some idle processes are ready, so queries do not wait for a start. After an organization's first
// query, a process belongs to that organization until it is idle for a while or killed. Queries take turns by organization. If
// the queue is full, the organization with the most waiting queries is refused.
import { AppError, allDone } from "#core"
import { FairLimiter, type Share } from "#core/engine"
import type { QueryTask } from "./protocol.ts"
import { type ProcessLimits, type QueryOutcome, QueryProcess } from "./query-process.ts"

export interface PoolLimits extends ProcessLimits {
  /** Concurrent queries on this node. */
  readonly concurrency: number
  /** Bound of waiting queries; further queries are refused. */
  readonly maxWaiting: number
  readonly idleMs: number
  /** Idle processes ready for the next query. */
  readonly ready: number
}

/** A process start slows running queries. After this time, a running query no longer delays a start. */
const startBesideMs = 2_000

/** Queries per process before its replacement. This bounds leaks of native code. */
const queriesEach = 200

interface Owned {
  readonly process: QueryProcess
  served: number
  idle: NodeJS.Timeout | undefined
  /** Sequence number of its last idle transition; not a time. */
  since: number
}

export class QueryPool {
  readonly #limits: PoolLimits
  /** Idle processes by organization. */
  readonly #owned = new Map<string, Owned[]>()
  readonly #limiter: FairLimiter
  readonly #busy = new Set<QueryProcess>()
  #ready: QueryProcess[] = []
  #startLater: NodeJS.Timeout | undefined
  #stopped = false
  #isNeeded = false
  #ticks = 0

  constructor(limits: PoolLimits) {
    this.#limits = limits
    const { concurrency, maxWaiting } = limits
    this.#limiter = new FairLimiter({
      slots: concurrency,
      // Limits one organization to half of the slots while others may need them.
      reservedSlots: Math.floor(concurrency / 2),
      maxWaiting,
      refusal: () => {
        const message = `${maxWaiting} analytics queries are waiting already; retry in a few seconds.`
        return new AppError("resource_exhausted", message, { reason: "too_many_queries" }, { retryAfterS: 5 })
      },
    })
  }

  /** Waiting and running queries by organization. */
  shares(): Share[] {
    return this.#limiter.shares()
  }

  /** Starts the ready processes. Before this call, a query starts its own process. */
  start(): void {
    if (this.#isNeeded) return
    this.#isNeeded = true
    this.#keepReady()
  }

  /** Throws `resource_exhausted` if too many queries wait. An aborted query leaves the queue, or its process is killed. */
  async run(organization: string, task: Omit<QueryTask, "id">, signal: AbortSignal): Promise<QueryOutcome> {
    this.#isNeeded = true
    if (this.#stopped) throw stopping()
    return this.#limiter.run({ organization, signal }, () => this.#run(organization, task, signal))
  }

  async #run(organization: string, task: Omit<QueryTask, "id">, signal: AbortSignal): Promise<QueryOutcome> {
    for (;;) {
      if (this.#stopped) throw stopping()
      const owned = this.#take(organization)
      const isFresh = owned.served === 0
      const outcome = await this.#runIn(owned, organization, task, signal)
      // The process ended after an earlier query and never received this query.
      if (outcome.kind !== "unstarted" || isFresh) return outcome
    }
  }

  async #runIn(owned: Owned, organization: string, task: Omit<QueryTask, "id">, signal: AbortSignal): Promise<QueryOutcome> {
    const abort = () => owned.process.kill()
    if (signal.aborted) abort()
    signal.addEventListener("abort", abort, { once: true })
    this.#busy.add(owned.process)
    try {
      return await owned.process.run(task)
    } finally {
      signal.removeEventListener("abort", abort)
      this.#busy.delete(owned.process)
      this.#giveBack(organization, owned)
    }
  }

  /** Idle processes and their organizations; undefined for an unassigned process. */
  processes(): { readonly pid: number | undefined; readonly organization: string | undefined }[] {
    const owned = [...this.#owned].flatMap(([organization, list]) => list.map(({ process }) => ({ pid: process.pid, organization })))
    const ready = this.#ready.filter(({ alive }) => alive).map(({ pid }) => ({ pid, organization: undefined }))
    return [...owned, ...ready]
  }

  async stop(): Promise<void> {
    this.#stopped = true
    const all = [...this.#busy, ...[...this.#owned.values()].flat().map((owned) => owned.process)]
    all.push(...this.#ready)
    clearTimeout(this.#startLater)
    for (const owned of [...this.#owned.values()].flat()) clearTimeout(owned.idle)
    this.#owned.clear()
    await allDone(all.map((process) => process.stop()))
  }

  #keepReady(): void {
    clearTimeout(this.#startLater)
    this.#startLater = undefined
    if (!this.#isNeeded || this.#stopped) return
    this.#ready = this.#ready.filter(({ alive }) => alive)
    while (this.#ready.length < this.#limits.ready) this.#ready.push(new QueryProcess(this.#limits))
  }

  #take(organization: string): Owned {
    const own = this.#owned.get(organization)?.pop()
    if (own?.process.alive) {
      clearTimeout(own.idle)
      return own
    }
    this.#ready = this.#ready.filter(({ alive }) => alive)
    const process = this.#ready.shift() ?? new QueryProcess(this.#limits)
    this.#startLater ??= setTimeout(() => this.#keepReady(), startBesideMs).unref()
    return { process, served: 0, idle: undefined, since: 0 }
  }

  #giveBack(organization: string, owned: Owned): void {
    owned.served++
    owned.since = ++this.#ticks
    if (owned.process.alive && owned.served < queriesEach && !this.#stopped) {
      const list = this.#owned.get(organization) ?? []
      list.push(owned)
      this.#owned.set(organization, list)
      owned.idle = setTimeout(() => this.#retire(organization, owned), this.#limits.idleMs)
      owned.idle.unref()
      this.#keepFew()
    } else owned.process.kill()
    // While a query runs, the start is postponed.
    if (this.#busy.size === 0) this.#keepReady()
  }

  #retire(organization: string, owned: Owned): void {
    const remaining = (this.#owned.get(organization) ?? []).filter((entry) => entry !== owned)
    if (remaining.length > 0) this.#owned.set(organization, remaining)
    else this.#owned.delete(organization)
    owned.process.kill()
  }

  /** Bounds idle processes by the concurrency. The longest idle process is ended first. */
  #keepFew(): void {
    const idle = [...this.#owned].flatMap(([organization, list]) => list.map((entry) => ({ organization, one: entry })))
    if (idle.length <= this.#limits.concurrency) return
    const [oldest] = idle.sort((a, b) => a.one.since - b.one.since)
    if (!oldest) return
    clearTimeout(oldest.one.idle)
    this.#retire(oldest.organization, oldest.one)
  }
}

function stopping(): AppError {
  return new AppError("unavailable", "The service is stopping; retry.", { reason: "stopping" })
}
