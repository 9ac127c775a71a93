// One query process as the service sees it: started with an empty environment, under the kernel's own limit on memory
// where there is one, watched, and killed. It serves one organization and is never handed to another.
import { type ChildProcess, spawn } from "node:child_process"
import { readFile } from "node:fs/promises"
import { fileURLToPath } from "node:url"
import { type QueryAnswer, type QueryTable, type QueryTask, ready } from "./protocol.ts"

export interface ProcessLimits {
  readonly threads: number
  /** Of the engine's own buffers; the process has `overheadMb` more. */
  readonly memoryMb: number
  readonly deadlineMs: number
  /** Folder where compiled code is kept, for a start in half the time; absent: nowhere. */
  readonly codeCache?: string
  /** For a start, and for opening an engine after each query; absent: 30 s. */
  readonly startMs?: number
}

export type QueryOutcome =
  | { readonly kind: "table"; readonly table: QueryTable }
  /** By the engine or by the allowlist; the process goes on. */
  | { readonly kind: "refused"; readonly message: string }
  /** The process is gone. */
  | { readonly kind: "memory" | "deadline" | "crashed"; readonly message: string }
  /** It never took the query. */
  | { readonly kind: "unstarted"; readonly message: string }

const main = fileURLToPath(new URL("./query-main.ts", import.meta.url))
/** A struct's member of that name is a value like any other; the engine's library would assign it to the accessor. */
const flags = ["--disable-proto=delete"]
/** Resident memory of a process beside the engine's buffers. */
const overheadMb = 384
/** Memory that a process may write to before any query, most of it never resident: 700 MB measured, and some to spare. */
const mappedMb = 1_024
const watchMs = 25
const defaultStartMs = 30_000

export class QueryProcess {
  readonly #limits: ProcessLimits
  readonly #child: ChildProcess
  readonly #gone: Promise<void>
  #alive = true
  #isKilled = false
  #isReady = false
  #readiness = Promise.withResolvers<void>()
  #openLimit: NodeJS.Timeout | undefined
  #why: "memory" | "deadline" | "start" | undefined
  #stderr = ""
  #asked = 0

  constructor(limits: ProcessLimits) {
    this.#limits = limits
    const parameters = [...flags, main, String(limits.threads), String(limits.memoryMb)]
    const maxKb = (limits.memoryMb + mappedMb) * 1_024
    const cache = limits.codeCache === undefined ? {} : { NODE_COMPILE_CACHE: limits.codeCache }
    const options = { env: { TZ: "UTC", ...cache }, stdio: ["ignore", "ignore", "pipe", "ipc"] as ("ignore" | "pipe" | "ipc")[] }
    // An allocation beyond the limit fails inside the process itself. A call for each limit: dash takes one at a time.
    this.#child =
      process.platform === "linux"
        ? spawn("/bin/sh", ["-c", `ulimit -d ${maxKb}; ulimit -c 0; exec "$0" "$@"`, process.execPath, ...parameters], options)
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
      this.#child.once("error", (error) => {
        this.#stderr += error.message
        gone()
      })
    })
    this.#child.on("message", (message) => message === ready && this.#opened())
    this.#opens()
    this.#child.unref()
  }

  /** Whether it can take a query. */
  get alive(): boolean {
    return this.#alive && !this.#isKilled
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  /** Resolves when it has an engine open for the next query, or is gone. */
  get ready(): Promise<void> {
    return Promise.race([this.#readiness.promise, this.#gone])
  }

  /** The deadline counts from when the process is ready; reading the segments and parsing count towards it. */
  async run(task: Omit<QueryTask, "id">): Promise<QueryOutcome> {
    const id = ++this.#asked
    this.#child.ref()
    await this.ready
    if (!this.#alive) return this.#lost()
    const stopWatch = this.#watchMemory()
    const deadline = setTimeout(() => this.kill("deadline"), this.#limits.deadlineMs)
    this.#readiness = Promise.withResolvers()
    try {
      const answered = new Promise<QueryAnswer>((resolve) => {
        const take = (answer: QueryAnswer) => {
          if (answer.id !== id) return
          this.#child.off("message", take)
          this.#opens()
          resolve(answer)
        }
        this.#child.on("message", take)
      })
      this.#child.send({ ...task, id }, (error) => error && this.kill())
      const answer = await Promise.race([answered, this.#gone])
      if (answer === undefined) return this.#lost()
      const outcome = outcomeOf(answer, this.#limits.memoryMb)
      // What the query took may be missing where the next engine is opened.
      if (outcome.kind === "memory") this.kill()
      return outcome
    } finally {
      clearTimeout(deadline)
      stopWatch()
      this.#child.unref()
    }
  }

  /** It opens an engine for the next query. */
  #opens(): void {
    this.#isReady = false
    this.#openLimit = setTimeout(() => this.kill("start"), this.#limits.startMs ?? defaultStartMs).unref()
  }

  #opened(): void {
    this.#isReady = true
    clearTimeout(this.#openLimit)
    this.#readiness.resolve()
  }

  kill(why?: "memory" | "deadline" | "start"): void {
    if (this.#alive) this.#why ??= why
    this.#isKilled = true
    this.#child.kill("SIGKILL")
  }

  async stop(): Promise<void> {
    this.#child.ref()
    this.kill()
    await this.#gone
  }

  #lost(): QueryOutcome {
    if (!this.#isReady && (this.#why === "start" || !this.#isKilled)) {
      return { kind: "unstarted", message: this.#stderr.trim() || "It took too long." }
    }
    if (this.#why === "deadline") {
      return {
        kind: "deadline",
        message: `The query timed out after ${this.#limits.deadlineMs} ms; query fewer days or columns.`,
      }
    }
    const memory = this.#why === "memory" || /out of memory|bad_alloc|allocation failed/i.test(this.#stderr)
    if (memory) return outOfMemory(this.#limits.memoryMb)
    return { kind: "crashed", message: "The query crashed the engine; rewrite it." }
  }

  /** What is resident, as the kernel says, where it says so. */
  #watchMemory(): () => void {
    if (process.platform !== "linux" || this.pid === undefined) return () => undefined
    const most = (this.#limits.memoryMb + overheadMb) * 2 ** 20
    const file = `/proc/${this.pid}/statm`
    const timer = setInterval(() => {
      readFile(file, "utf8").then(
        (statm) => {
          if (Number(statm.split(" ")[1] ?? 0) * 4_096 > most) this.kill("memory")
        },
        // The process has ended.
        () => undefined,
      )
    }, watchMs)
    return () => clearInterval(timer)
  }
}

function outcomeOf(answer: QueryAnswer, memoryMb: number): QueryOutcome {
  if ("table" in answer) return { kind: "table", table: answer.table }
  return answer.memory ? outOfMemory(memoryMb) : { kind: "refused", message: answer.refused }
}

function outOfMemory(memoryMb: number): QueryOutcome {
  return { kind: "memory", message: `The query needed more than ${memoryMb} MiB of memory and was stopped.` }
}
