// Memory of processes, as /proc of Linux reports it.
import { readdir, readFile } from "node:fs/promises"

const pageBytes = 4_096

/** Resident memory of a process. Returns 0 for an ended process. */
export async function residentBytes(pid: number): Promise<number> {
  try {
    const [, resident = "0"] = (await readFile(`/proc/${pid}/statm`, "utf8")).split(" ")
    return Number(resident) * pageBytes
  } catch {
    return 0
  }
}

/** Memory of a process group, without memory mapped from files. */
export async function groupBytes(group: number): Promise<number> {
  const names = await readdir("/proc")
  const sizes = await Promise.all(names.filter((name) => /^\d+$/.test(name)).map((pid) => ownBytes(pid, group)))
  return sizes.reduce((sum, size) => sum + size, 0)
}

/** Returns 0 for a process of another group, and for an ended process. */
async function ownBytes(pid: string, group: number): Promise<number> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8")
    // The name can contain any character. State, parent and group follow its last parenthesis.
    if (Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[2]) !== group) return 0
    const status = await readFile(`/proc/${pid}/status`, "utf8")
    return [...status.matchAll(/^Rss(?:Anon|Shmem):\s+(\d+) kB$/gm)].reduce((sum, [, size]) => sum + Number(size) * 1_024, 0)
  } catch {
    return 0
  }
}
