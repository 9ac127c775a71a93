// Measures the time of each test file in a mocha worker: from the end of the previous file (or the worker's start) to its own
// end, loading and hooks included. Workers append lines to a file; the reporter reads it at the end of the run.
import { appendFileSync, existsSync, readFileSync } from "node:fs"
import { relative } from "node:path"

/** Set by the reporter to the workers' common file. */
export const timesVariable = "MILLRACE_TEST_TIMES_FILE"

export interface FileTime {
  readonly file: string
  readonly seconds: number
  /** Of this process and its children; 0 if the system does not report it. */
  readonly cpuSeconds: number
}

let beganMs = 0
let beganCpu = 0

/** Call when the tests of a file have ended. */
export function recordTime(file: string): void {
  const target = process.env[timesVariable]
  const [nowMs, nowCpu] = [performance.now(), cpuSeconds()]
  if (target !== undefined) {
    const time: FileTime = { file: relative(process.cwd(), file), seconds: (nowMs - beganMs) / 1_000, cpuSeconds: nowCpu - beganCpu }
    appendFileSync(target, `${JSON.stringify(time)}\n`)
  }
  beganMs = nowMs
  beganCpu = nowCpu
}

/** Most processor time first. */
export function readTimes(path: string): FileTime[] {
  if (!existsSync(path)) return []
  const lines = readFileSync(path, "utf8").split("\n").filter(Boolean)
  return lines.map((line) => JSON.parse(line) as FileTime).sort((a, b) => b.cpuSeconds - a.cpuSeconds || b.seconds - a.seconds)
}

function cpuSeconds(): number {
  if (process.platform !== "linux") return 0
  const file = `/proc/self/task/${process.pid}/children`
  const children = existsSync(file) ? readFileSync(file, "utf8").split(" ").filter(Boolean) : []
  return ["self", ...children].reduce((sum, process) => sum + secondsOf(process), 0)
}

/** utime, stime, cutime and cstime of proc_pid_stat(5), in ticks of 10 ms: of the process, and of its ended children. */
function secondsOf(process: string): number {
  try {
    const [, fields = ""] = /^.*\) (.*)$/s.exec(readFileSync(`/proc/${process}/stat`, "utf8")) ?? []
    return fields
      .split(" ")
      .slice(11, 15)
      .reduce((sum, ticks) => sum + Number(ticks) / 100, 0)
  } catch {
    // The process has ended in the meantime.
    return 0
  }
}
