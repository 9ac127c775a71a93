// Watches the main thread, because one long piece of work blocks all others. A stretch of more than 50 ms of processor
// time is counted by operation. A log line names the organization.

import { setImmediate as nextTurn } from "node:timers/promises"
import { Histogram, type Registry } from "prom-client"
import type { Logger } from "./log.ts"
import { type Marked, takeLongest, workGoesOn } from "./request-scope.ts"

/** Interval between two checks. A late check indicates a long stretch. */
const lookMs = 20
const maxStretchMs = 50
/** Minimum time between two log lines. */
const lineMs = 10_000

export interface MainThreadDeps {
  readonly log: Logger
  readonly metrics: Registry
}

export class MainThreadWatch {
  readonly #log: Logger
  readonly #seconds: Histogram<"operation">
  #timer: NodeJS.Timeout | undefined
  #used = process.threadCpuUsage()
  #due = 0
  #lastLine = Number.NEGATIVE_INFINITY
  #unlogged = 0

  constructor({ log, metrics }: MainThreadDeps) {
    this.#log = log
    this.#seconds = new Histogram({
      name: "millrace_main_thread_stretch_seconds",
      help: "Processor time of stretches of more than 50 ms that kept the main thread from other work, by operation.",
      labelNames: ["operation"],
      buckets: [0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers: [metrics],
    })
  }

  /** Uses real time, because it measures the processor. */
  start(): void {
    const now = performance.now()
    takeLongest(now)
    this.#used = process.threadCpuUsage()
    this.#due = now + lookMs
    this.#timer = setInterval(() => this.#look(), lookMs).unref()
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #look(): void {
    const now = performance.now()
    const { user, system } = process.threadCpuUsage(this.#used)
    this.#used = process.threadCpuUsage()
    // The timer became due during the stretch. Work before this time is not part of the wait.
    const stretchMs = Math.min((user + system) / 1_000, now - this.#due + lookMs)
    this.#due = now + lookMs
    const marked = takeLongest(now)
    if (stretchMs > maxStretchMs) this.#report(stretchMs, marked)
  }

  #report(stretchMs: number, { operation, organization }: Marked): void {
    this.#seconds.observe({ operation }, stretchMs / 1_000)
    const now = performance.now()
    if (now - this.#lastLine < lineMs) {
      this.#unlogged++
      return
    }
    const line = { operation, organization, cpu_ms: Math.round(stretchMs), unlogged: this.#unlogged }
    // The service's own work, such as its start, is logged at debug level.
    const level = operation === "service" ? "debug" : "warn"
    this.#log[level](line, "one piece of work kept the main thread from all others")
    this.#lastLine = now
    this.#unlogged = 0
  }
}

/** Maximum stretch of work between two turns of the event loop. */
const stretchMs = 5

let stretchBegan = 0

/** Resolves at once while the current stretch is short. Otherwise other work runs first. */
export async function giveWay(): Promise<void> {
  if (performance.now() - stretchBegan < stretchMs) return
  await nextTurn()
  workGoesOn()
  stretchBegan = performance.now()
}
