// Reads what strace saw of the service: for every event answered with 2xx, whether its entry was written to the log and
// the log flushed to the disk before the answer left. A kill cannot show that: the page cache outlives the process.
import { execFileSync } from "node:child_process"
import { createReadStream } from "node:fs"
import { createInterface } from "node:readline"

/** Calls that write, flush or answer; strings long enough for a page of the log. */
export function straceTo(file: string): string[] {
  const calls = "trace=write,writev,sendmsg,pwrite64,pwritev,fsync,fdatasync"
  return ["strace", "-f", "-qq", "-yy", "-s", "12000", "-e", calls, "-e", "signal=none", "-o", file]
}

/** Why strace cannot be used here; undefined where it can. */
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
  /** Answered before their entry was flushed, or without. */
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
  /** Ids in the log that no flush covers yet. */
  #writes = new Set<string>()
  /** Ids that a flush in progress will have put on disk, by the thread that asked for it. */
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
