// The sealing process as the service sees it: started on first use, and restarted when it died. A task in
// progress at that moment fails; the caller retries from the committed state.
import { type ChildProcess, spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import type { SegmentReply, SegmentResults, SegmentTask } from "./segment-tasks.ts"

const main = fileURLToPath(new URL("./segment-main.ts", import.meta.url))
const memoryMb = 512
/** The allocator of the engine keeps pages between tasks, so that the process grows with each task. */
const maxTasks = 1_000
const maxIdleBytes = 320 << 20

interface Waiting {
  readonly resolve: (result: SegmentResults[keyof SegmentResults]) => void
  readonly reject: (error: Error) => void
}

export interface SegmentEngineOptions {
  readonly codeCache?: string
  /** Tasks after which the process is replaced. */
  readonly maxTasks?: number
  /** Resident memory after a task beyond which the process is replaced. */
  readonly maxIdleBytes?: number
}

export class SegmentEngine {
  readonly #env: Readonly<Record<string, string>>
  #child: ChildProcess | undefined
  #waiting = new Map<number, Waiting>()
  #asked = 0
  /** Answered by the present process. */
  #answered = 0
  #stopped = false

  readonly #maxTasks: number
  readonly #maxIdleBytes: number

  /** `codeCache`: the folder where compiled code is kept, for a start in half the time; absent: nowhere. */
  constructor(options: SegmentEngineOptions = {}) {
    const { codeCache } = options
    this.#env = { TZ: "UTC", ...(codeCache === undefined ? {} : { NODE_COMPILE_CACHE: codeCache }) }
    this.#maxTasks = options.maxTasks ?? maxTasks
    this.#maxIdleBytes = options.maxIdleBytes ?? maxIdleBytes
  }

  run<K extends SegmentTask["kind"]>(task: Extract<SegmentTask, { kind: K }>): Promise<SegmentResults[K]> {
    if (this.#stopped) return Promise.reject(new Error("The sealing process is stopped."))
    const child = this.#running()
    const id = ++this.#asked
    return new Promise<SegmentResults[keyof SegmentResults]>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      child.send({ id, task }, (error) => error && this.#settle(id)?.reject(error))
    }) as Promise<SegmentResults[K]>
  }

  /** Of the present process. */
  get pid(): number | undefined {
    return this.#child?.pid
  }

  async stop(): Promise<void> {
    this.#stopped = true
    const child = this.#child
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const gone = new Promise((resolve) => child.once("exit", resolve))
    child.kill("SIGKILL")
    await gone
  }

  #running(): ChildProcess {
    if (this.#child) return this.#child
    const child = spawn(process.execPath, [main, String(memoryMb)], { env: this.#env, stdio: ["ignore", "ignore", "pipe", "ipc"] })
    let stderr = ""
    child.stderr?.on("data", (chunk: Buffer) => {
      stderr = (stderr + chunk.toString("utf8")).slice(-2_000)
    })
    child.on("message", (reply: SegmentReply) => {
      const waiting = this.#settle(reply.id)
      this.#answered++
      const isLarge = "residentBytes" in reply && reply.residentBytes > this.#maxIdleBytes
      if ((isLarge || this.#answered >= this.#maxTasks) && this.#waiting.size === 0 && this.#child === child) {
        // The next task starts another one.
        this.#child = undefined
        child.kill("SIGKILL")
      }
      if ("failed" in reply) waiting?.reject(new Error(reply.failed))
      else waiting?.resolve(reply.result)
    })
    const lost = (error?: Error) => {
      if (this.#child !== child) return
      this.#child = undefined
      const all = [...this.#waiting.values()]
      this.#waiting = new Map()
      for (const { reject } of all) reject(error ?? new Error(`The sealing process ended: ${stderr || "without a message"}`))
    }
    child.once("exit", () => lost())
    child.once("error", lost)
    this.#child = child
    this.#answered = 0
    return child
  }

  #settle(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    return waiting
  }
}
