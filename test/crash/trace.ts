// Reads an strace log of the service. For every event answered with 2xx, checks that its entry was written and flushed to disk
// before the answer. A kill cannot prove this: the page cache outlives the process.
import { execFileSync } from "node:child_process"
import { createReadStream } from "node:fs"
import { createInterface } from "node:readline"

/** System calls that write, flush or answer. String limits cover a page of the log. */
export function straceTo(file: string): string[] {
  const calls = "trace=write,writev,sendmsg,pwrite64,pwritev,fsync,fdatasync"
  return ["strace", "-f", "-qq", "-yy", "-s", "12000", "-e", calls, "-e", "signal=none", "-o", file]
}

/** Returns the reason why strace cannot run here; undefined if it can. */
export function straceMissing(): string | undefined {
  try {
    execFileSync("strace", ["-qq", "-o", "/dev/null", "true"], { stdio: "pipe" })
    return undefined
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT"
      ? "strace is not installed"
      : `strace may not trace here: ${(error as Error).message}`
  }
}

export interface TraceReport {
  /** Events answered with 2xx. */
  readonly answered: number
  readonly flushes: number
  /** Events answered before the flush of their entry, or without a flush. */
  readonly early: readonly string[]
}

const call = /^(\d+) +(?:<\.\.\. )?(\w+)(?:\((\d+)<(.*?)>|.* resumed>)/
const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/g
const answer = /HTTP\/1\.1 2\d\d .*\\"execution_id\\":\\"([0-9a-f-]{36})/

export async function readTrace(file: string): Promise<TraceReport> {
  const reader = new TraceReader()
  for await (const line of createInterface({ input: createReadStream(file) })) reader.take(line)
  return reader
}

class TraceReader implements TraceReport {
  answered = 0
  flushes = 0
  readonly early: string[] = []
  /** Ids in the log without a completed flush. */
  #writes = new Set<string>()
  /** Ids covered by a flush in progress, by calling thread. */
  readonly #covered = new Map<string, Set<string>>()
  readonly #flushed = new Set<string>()

  take(line: string): void {
    const [, thread = "", name = "", , path = ""] = call.exec(line) ?? []
    const isLog = path.endsWith("millrace.db-wal")
    if (name === "fsync" || name === "fdatasync") this.#flush(line, thread, isLog)
    else if (isLog) for (const [id] of line.matchAll(uuid)) this.#writes.add(id)
    else if (path.startsWith("TCP")) this.#answer(line)
  }

  #flush(line: string, thread: string, begins: boolean): void {
    if (begins) {
      this.#covered.set(thread, this.#writes)
      this.#writes = new Set()
    }
    if (line.includes("unfinished ...")) return
    const ids = this.#covered.get(thread)
    this.#covered.delete(thread)
    if (!ids || !line.endsWith("= 0")) return
    this.flushes++
    for (const id of ids) this.#flushed.add(id)
  }

  #answer(line: string): void {
    const id = answer.exec(line)?.[1]
    if (id === undefined) return
    this.answered++
    if (!this.#flushed.has(id)) this.early.push(id)
  }
}
