// The sealing process as the service sees it: started on first use, and restarted when it died. A task in
// progress at that moment fails; the caller retries from the committed state.
import { type ChildProcess, spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import type { SegmentReply, SegmentResults, SegmentTask } from "./segment-tasks.ts"

const main = fileURLToPath(new URL("./segment-main.ts", import.meta.url))
const memoryMb = 512

interface Waiting {
  readonly resolve: (result: SegmentResults[keyof SegmentResults]) => void
  readonly reject: (error: Error) => void
}

export class SegmentEngine {
  readonly #env: Readonly<Record<string, string>>
  #child: ChildProcess | undefined
  #waiting = new Map<number, Waiting>()
  #asked = 0
  #stopped = false

  /** `codeCache`: the folder where compiled code is kept, for a start in half the time; absent: nowhere. */
  constructor({ codeCache }: { readonly codeCache?: string } = {}) {
    this.#env = { TZ: "UTC", ...(codeCache === undefined ? {} : { NODE_COMPILE_CACHE: codeCache }) }
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
    return child
  }

  #settle(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id)
    this.#waiting.delete(id)
    return waiting
  }
}
