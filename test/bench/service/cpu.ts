// CPU and memory of a process and its children, as counted by Linux.
import { readdirSync, readFileSync } from "node:fs"

export interface ProcessTree {
  /** CPU microseconds so far of the process and its children, counted in hundredths of a second. */
  cpuUs(): number
  /** The same by thread name, with nanosecond precision. Excludes ended threads. */
  threadsUs(): Map<string, number>
  /** Its own memory without file-backed pages. */
  residentMb(): number
}

const ticksPerSecond = 100

export function processTree(root: number): ProcessTree {
  return {
    cpuUs: () => sumOf(members(root).map(cpuOf)),
    threadsUs() {
      const used = new Map<string, number>()
      for (const pid of members(root)) {
        for (const [name, us] of threadsOf(pid, pid === root ? "" : "child ")) used.set(name, (used.get(name) ?? 0) + us)
      }
      return used
    },
    residentMb: () => sumOf(members(root).map(residentOf)),
  }
}

function members(pid: number): number[] {
  const matches = [pid]
  for (const thread of entriesOf(`/proc/${pid}/task`)) {
    const children = read(`/proc/${pid}/task/${thread}/children`).trim()
    if (children !== "") for (const part of children.split(" ")) matches.push(...members(Number(part)))
  }
  return matches
}

function cpuOf(pid: number): number {
  // Fields after the name. The name is in brackets and may contain any character.
  const stat = read(`/proc/${pid}/stat`)
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
  return ((Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) * 1e6) / ticksPerSecond
}

function threadsOf(pid: number, prefix: string): [name: string, us: number][] {
  return entriesOf(`/proc/${pid}/task`).map((thread) => {
    const name = Number(thread) === pid ? "main" : read(`/proc/${pid}/task/${thread}/comm`).trim()
    return [prefix + name, Number(read(`/proc/${pid}/task/${thread}/schedstat`).split(" ")[0]) / 1_000]
  })
}

function residentOf(pid: number): number {
  return Number(/^RssAnon:\s+(\d+) kB/m.exec(read(`/proc/${pid}/status`))?.[1] ?? 0) / 1_024
}

/** Returns "" if the process has ended. */
function read(file: string): string {
  try {
    return readFileSync(file, "utf8")
  } catch {
    return ""
  }
}

function entriesOf(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0)
}
