// A thread of the service without its environment, under limits of V8. Native code shares the memory of the service.
import { type ResourceLimits, Worker } from "node:worker_threads"
import { type Clock, systemClock } from "../kernel/clock.ts"
import { throwUncaught } from "../kernel/promises.ts"
import { Peer, type PeerProgram } from "./peer.ts"

export interface ThreadProgram extends PeerProgram {
  readonly limits: ResourceLimits
}

/** Between two measurements of processor time. */
const measureMs = 250
/** A thread without the processor ends after this many measurements. */
const maxMeasurements = 48

/** A thread under limits. */
export class ConfinedThread extends Peer {
  readonly #worker: Worker

  constructor(program: ThreadProgram) {
    super(program)
    this.#worker = new Worker(program.main, { name: program.name, resourceLimits: program.limits, env: {} })
    this.#worker.unref()
    this.#worker.once("online", () => {
      this.isStarted = true
    })
    this.#worker.on("message", (message) => this.received(message))
    this.#worker.once("error", (error) => this.#lost(null, error as Error))
    this.#worker.once("exit", (code) => this.#lost(code))
  }

  send(message: object): void {
    this.#worker.postMessage(message)
  }

  /** Kills the thread if its work uses more processor time. A starved thread gets longer. Returns a function that cancels the kill. */
  cpuDeadline(milliseconds: number, clock: Clock = systemClock): () => void {
    let isOver = false
    let measurements = 0
    let usedAtStart: number | undefined
    const judge = ({ user, system }: NodeJS.CpuUsage) => {
      const usedMs = (user + system) / 1_000
      usedAtStart ??= usedMs
      if (!isOver && usedMs - usedAtStart > milliseconds) this.kill("deadline")
    }
    const measure = () => {
      if (++measurements > maxMeasurements) return this.kill("deadline")
      cancel = clock.after(measureMs, measure)
      // A thread has no figure before its start and after its end.
      this.#worker.cpuUsage().then(judge, () => {})
    }
    let cancel = clock.after(measureMs, measure)
    return () => {
      isOver = true
      cancel()
    }
  }

  override async stop(): Promise<void> {
    this.kill()
    await this.#worker.terminate()
  }

  /** Native code can delay the end of the thread, but not of its requests. */
  protected end(): void {
    this.#worker.terminate().catch(throwUncaught)
    this.#lost(null)
  }

  #lost(code: number | null, cause?: Error): void {
    this.lost({ code, signal: null, stderr: cause?.message ?? "", cause })
  }
}
