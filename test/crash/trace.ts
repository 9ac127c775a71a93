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
  /** Ids in the log and not known to be flushed; those a flush under way will cover, by thread; those on disk. */
  let written = new Set<string>()
  const covered = new Map<string, Set<string>>()
  const flushed = new Set<string>()
  const early: string[] = []
  let answered = 0
  let flushes = 0
  for await (const line of createInterface({ input: createReadStream(file) })) {
    const [, thread = "", name = "", , path] = call.exec(line) ?? []
    if (name === "fsync" || name === "fdatasync") {
      if (path?.endsWith("millrace.db-wal")) {
        covered.set(thread, written)
        written = new Set()
      }
      if (line.includes("unfinished ...")) continue
      const ids = covered.get(thread)
      covered.delete(thread)
      if (!ids) continue
      flushes++
      for (const id of ids) if (line.endsWith("= 0")) flushed.add(id)
    } else if (path?.endsWith("millrace.db-wal")) {
      for (const [id] of line.matchAll(uuid)) written.add(id)
    } else if (path?.startsWith("TCP")) {
      const id = answer.exec(line)?.[1]
      if (id === undefined) continue
      answered++
      if (!flushed.has(id)) early.push(id)
    }
  }
  return { answered, flushes, early }
}
