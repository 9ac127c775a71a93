// The process that seals page events. A task fails if the process ends; the caller retries from the committed state.
import { ConfinedChild, OnDemand } from "#core/engine"
import type { SegmentReply, SegmentResults, SegmentTask } from "./segment-tasks.ts"

const memoryMb = 512
/** The allocator of the engine keeps pages between tasks, so that the process grows with each task. */
const maxTasks = 1_000
const maxIdleBytes = 320 << 20

export interface SegmentEngineOptions {
  /** Folder of compiled code. It halves the time of a start. */
  readonly codeCache?: string
  /** Tasks after which the process is replaced. */
  readonly maxTasks?: number
  /** Resident memory after a task beyond which the process is replaced. */
  readonly maxIdleBytes?: number
}

export class SegmentEngine {
  readonly #options: SegmentEngineOptions
  readonly #children = new OnDemand(() => this.#start())
  /** By the present process. */
  #answered = 0

  constructor(options: SegmentEngineOptions = {}) {
    this.#options = options
  }

  run<K extends SegmentTask["kind"]>(task: Extract<SegmentTask, { kind: K }>): Promise<SegmentResults[K]> {
    return this.#children.use(async (child) => {
      const reply = await child.ask<SegmentReply>({ task })
      const isLarge = "residentBytes" in reply && reply.residentBytes > (this.#options.maxIdleBytes ?? maxIdleBytes)
      if (isLarge || ++this.#answered >= (this.#options.maxTasks ?? maxTasks)) child.drain()
      if ("failed" in reply) throw new Error(reply.failed)
      return reply.result as SegmentResults[K]
    })
  }

  /** Of the present process. */
  get pid(): number | undefined {
    return this.#children.current?.pid
  }

  stop(): Promise<void> {
    return this.#children.stop(new Error("The sealing process is stopped."))
  }

  #start(): ConfinedChild {
    this.#answered = 0
    return new ConfinedChild({
      name: "sealing process",
      main: new URL("./segment-main.ts", import.meta.url),
      parameters: [String(memoryMb)],
      codeCache: this.#options.codeCache,
    })
  }
}
