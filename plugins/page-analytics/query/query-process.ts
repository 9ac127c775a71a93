// One query process as the service sees it: started with an empty environment, under the kernel's own limit on memory
// where there is one, watched, and killed. It serves one organization and is never handed to another.
import { type ChildProcess, spawn } from "node:child_process"
import { readFile } from "node:fs/promises"
import { totalmem } from "node:os"
import { fileURLToPath } from "node:url"
import { type QueryAnswer, type QueryTable, type QueryTask, ready } from "./protocol.ts"

export interface ProcessLimits {
  readonly threads: number
  /** Of the engine's own buffers; the process has `overheadMb` more. */
  readonly memoryMb: number
  readonly deadlineMs: number
  /** Folder where compiled code is kept, which makes a start a third shorter; absent: nowhere. */
  readonly codeCache?: string
}

export type QueryOutcome =
  | { readonly kind: "table"; readonly table: QueryTable }
  /** By the engine or by the allowlist; the process goes on. */
  | { readonly kind: "refused"; readonly message: string }
  /** The process is gone. */
  | { readonly kind: "memory" | "deadline" | "crashed"; readonly message: string }

const main = fileURLToPath(new URL("./query-main.ts", import.meta.url))
/** A struct's member of that name is a value like any other; the engine's library would assign it to the accessor. */
const flags = ["--disable-proto=delete"]
const overheadMb = 384
const watchMs = 25

export class QueryProcess {
  readonly #limits: ProcessLimits
  readonly #child: ChildProcess
  readonly ready: Promise<void>
  readonly #gone: Promise<void>
  #alive = true
  #why: "memory" | "deadline" | undefined
  #stderr = ""
  #asked = 0

  constructor(limits: ProcessLimits) {
    this.#limits = limits
    const parameters = [...flags, main, String(limits.threads), String(limits.memoryMb)]
    const maxKb = Math.min(limits.memoryMb + overheadMb, Math.floor(totalmem() / 2 ** 20)) * 1_024
    const cache = limits.codeCache === undefined ? {} : { NODE_COMPILE_CACHE: limits.codeCache }
    const options = { env: { TZ: "UTC", ...cache }, stdio: ["ignore", "ignore", "pipe", "ipc"] as ("ignore" | "pipe" | "ipc")[] }
    // Data segments count what a process may write to: an allocation beyond the limit fails inside the process itself.
    this.#child =
      process.platform === "linux"
        ? spawn("/bin/sh", ["-c", `ulimit -d ${maxKb} -c 0; exec "$0" "$@"`, process.execPath, ...parameters], options)
        : spawn(process.execPath, parameters, options)
    this.#child.stderr?.on("data", (chunk: Buffer) => {
      this.#stderr = (this.#stderr + chunk.toString("utf8")).slice(-2_000)
    })
    this.#gone = new Promise((resolve) => {
      const gone = () => {
        this.#alive = false
        resolve()
      }
      this.#child.once("exit", gone)
      this.#child.once("error", gone)
    })
    this.ready = Promise.race([
      new Promise<void>((resolve) => this.#child.once("message", (message) => message === ready && resolve())),
      this.#gone,
    ])
    this.#child.unref()
  }

  get alive(): boolean {
    return this.#alive
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  /** Reading the segments and parsing count towards the deadline; waiting for the process to be ready does too. */
  async run(task: Omit<QueryTask, "id">): Promise<QueryOutcome> {
    const id = ++this.#asked
    const stopWatch = this.#watchMemory()
    const deadline = setTimeout(() => this.kill("deadline"), this.#limits.deadlineMs)
    this.#child.ref()
    try {
      await this.ready
      if (!this.#alive) return this.#lost()
      const answered = new Promise<QueryAnswer>((resolve) => {
        const take = (answer: QueryAnswer) => {
          if (answer.id !== id) return
          this.#child.off("message", take)
          resolve(answer)
        }
        this.#child.on("message", take)
      })
      this.#child.send({ ...task, id }, (error) => error && this.kill())
      const answer = await Promise.race([answered, this.#gone])
      return answer === undefined ? this.#lost() : outcomeOf(answer)
    } finally {
      clearTimeout(deadline)
      stopWatch()
      this.#child.unref()
    }
  }

  kill(why?: "memory" | "deadline"): void {
    if (this.#alive) this.#why ??= why
    this.#child.kill("SIGKILL")
  }

  async stop(): Promise<void> {
    this.#child.ref()
    this.kill()
    await this.#gone
  }

  #lost(): QueryOutcome {
    if (this.#why === "deadline") {
      return {
        kind: "deadline",
        message: `The query timed out after ${this.#limits.deadlineMs} ms; query fewer days or columns.`,
      }
    }
    const memory = this.#why === "memory" || /out of memory|bad_alloc|allocation failed/i.test(this.#stderr)
    if (memory) return { kind: "memory", message: `The query needed more than ${this.#limits.memoryMb} MiB of memory and was stopped.` }
    return { kind: "crashed", message: "The query crashed the engine; rewrite it." }
  }

  /** What is resident, as the kernel says, where it says so. */
  #watchMemory(): () => void {
    if (process.platform !== "linux" || this.pid === undefined) return () => undefined
    const most = (this.#limits.memoryMb + overheadMb) * 2 ** 20
    const file = `/proc/${this.pid}/statm`
    const timer = setInterval(async () => {
      const statm = await readFile(file, "utf8").catch(() => "")
      if (Number(statm.split(" ")[1] ?? 0) * 4_096 > most) this.kill("memory")
    }, watchMs)
    return () => clearInterval(timer)
  }
}

function outcomeOf(answer: QueryAnswer): QueryOutcome {
  if ("table" in answer) return { kind: "table", table: answer.table }
  return { kind: "refused", message: answer.refused }
}
