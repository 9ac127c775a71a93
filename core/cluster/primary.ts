// The main process if `workers` is above 1. It owns the port and passes connections to its workers in turn (node:cluster). It
// restarts dead workers and sums up their metrics. Each worker is an ordinary node. Workers end with this process: node:cluster
// ends a worker without a primary, and the port closes.
import cluster, { type Worker } from "node:cluster"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { AggregatorRegistry, Counter, Gauge, Registry } from "prom-client"
import { type Clock, giveUpAfter } from "../kernel/clock.ts"
import type { Logger } from "../kernel/log.ts"
import { allDone, throwUncaught } from "../kernel/promises.ts"
import { type Samples, socketsVariable, type ToPrimary, type ToWorker } from "./worker.ts"

export interface PrimaryOptions {
  readonly workers: number
  readonly clock: Clock
  readonly log: Logger
  /** Time between a stop and the kill, in milliseconds. */
  readonly stopWithinMs: number
}

/** A worker that dies sooner after its start is restarted with a delay. The delay grows each time. */
const youngMs = 10_000
const minPauseMs = 200
const maxPauseMs = 10_000
/** A worker that does not answer in this time is missing from the scrape. */
const scrapeTimeoutMs = 800

interface KeepArgs {
  /** Deaths in a row, each within `youngMs` of the start. */
  readonly youngDeaths?: number
  readonly onListening: () => void
  /** Called in place of a restart if the first start fails. */
  readonly onFailure?: (error: Error) => void
}

export class Primary {
  readonly log: Logger
  /** The first worker prints the greetings. */
  readonly listening = { greetings: [] }
  readonly #options: PrimaryOptions
  readonly #sockets: string
  /** Workers that have started and not ended. */
  readonly #workers = new Map<number, { readonly worker: Worker; listens: boolean }>()
  readonly #scrapes = new Map<number, (id: number, samples: Samples) => void>()
  readonly #metrics = new Registry()
  readonly #restarts: Counter
  #lastScrape = 0
  #stopping = false

  constructor(options: PrimaryOptions) {
    this.#options = options
    this.log = options.log
    this.#sockets = mkdtempSync(join(tmpdir(), `millrace-${process.pid}-`))
    const registers = [this.#metrics]
    this.#restarts = new Counter({ name: "millrace_worker_restarts_total", help: "Worker restarts.", registers })
    const listening = () => this.#listening().length
    new Gauge({
      name: "millrace_workers",
      help: "Listening workers.",
      registers,
      collect() {
        this.set(listening())
      },
    })
  }

  /**
   * Resolves when all workers listen, or after a stop. The first worker starts alone. Throws if it ends before it listens; it has
   * printed the reason.
   */
  async start(): Promise<void> {
    try {
      await new Promise<void>((resolve, reject) => this.#keep({ onListening: resolve, onFailure: reject }))
    } catch (error) {
      const stopped = this.#stopping
      await this.stop()
      if (!stopped) throw error
    }
    const others = Array.from({ length: this.#stopping ? 0 : this.#options.workers - 1 })
    await allDone(others.map(() => new Promise<void>((onListening) => this.#keep({ onListening }))))
    this.log.info({ workers: this.#options.workers }, "workers listen")
  }

  /** Resolves when every worker has ended. Kills slow workers. */
  async stop(): Promise<void> {
    this.#stopping = true
    const running = [...this.#workers.values()].map(({ worker }) => worker)
    const ended = running.map((worker) => new Promise((resolve) => worker.once("exit", resolve)))
    for (const worker of running) tell(worker, { kind: "stop" })
    const cancel = this.#options.clock.after(this.#options.stopWithinMs, () => {
      this.log.warn({ within_ms: this.#options.stopWithinMs }, "workers that did not stop in time are killed")
      this.kill()
    })
    await allDone(ended)
    cancel()
    rmSync(this.#sockets, { recursive: true, force: true })
  }

  kill(): void {
    this.#stopping = true
    for (const { worker } of this.#workers.values()) worker.process.kill("SIGKILL")
  }

  /** Runs a worker and replaces it when it ends. */
  #keep({ youngDeaths = 0, onListening, onFailure }: KeepArgs): void {
    const { clock } = this.#options
    const startedAt = clock.monotonic()
    let listens = false
    const worker = this.#fork(() => {
      listens = true
      onListening()
    })
    const { id, process: child } = worker
    worker.once("exit", (code, signal) => {
      if (onFailure && !listens) return onFailure(new Error("The first worker ended before it was listening; see its message above."))
      if (this.#stopping) return
      const deaths = clock.monotonic() - startedAt < youngMs ? youngDeaths + 1 : 0
      const pause = deaths < 2 ? 0 : Math.min(maxPauseMs, minPauseMs * 2 ** (deaths - 2))
      this.log.warn({ worker: id, pid: child.pid, code, signal, again_in_ms: pause }, "a worker ended; starting another")
      this.#restarts.inc()
      clock.after(pause, () => {
        if (!this.#stopping) this.#keep({ youngDeaths: deaths, onListening })
      })
    })
  }

  #fork(onListening: () => void): Worker {
    const worker = cluster.fork({ [socketsVariable]: this.#sockets })
    const entry = { worker, listens: false }
    this.#workers.set(worker.id, entry)
    worker.once("exit", () => this.#workers.delete(worker.id))
    // A message to an ending worker may fail. Its exit is handled separately.
    worker.on("error", (error) => this.log.debug({ err: error, worker: worker.id }, "a worker could not be told"))
    worker.on("message", (message: ToPrimary) => {
      if (message.kind === "listening") {
        entry.listens = true
        onListening()
      } else if (message.kind === "own_metrics") this.#scrapes.get(message.scrape)?.(worker.id, message.samples)
      else
        this.#scrape()
          .catch((error: unknown) => {
            this.log.error({ err: error }, "the metrics of the workers could not be read")
            return ""
          })
          .then((text) => tell(worker, { kind: "metrics", question: message.question, text }), throwUncaught)
    })
    return worker
  }

  #listening(): Worker[] {
    return [...this.#workers.values()].filter(({ listens }) => listens).map(({ worker }) => worker)
  }

  /** Returns the metrics of all workers as one text. A scrape reaches an arbitrary worker and must cover all. */
  async #scrape(): Promise<string> {
    const scrape = ++this.#lastScrape
    const waiting = new Set(this.#listening().map(({ id }) => id))
    const found: Samples[] = [await this.#metrics.getMetricsAsJSON()]
    await new Promise<void>((resolve) => {
      const cancel = giveUpAfter(this.#options.clock, scrapeTimeoutMs, resolve)
      this.#scrapes.set(scrape, (id, samples) => {
        if (!waiting.delete(id)) return
        found.push(samples)
        if (waiting.size > 0) return
        cancel()
        resolve()
      })
      for (const worker of this.#listening()) tell(worker, { kind: "own_metrics", scrape })
    })
    this.#scrapes.delete(scrape)
    return AggregatorRegistry.aggregate(found).metrics()
  }
}

function tell(worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message)
}
