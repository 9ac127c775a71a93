// A process group as one thing: what memory it holds, and its end.
import { readdir, readFile } from "node:fs/promises"

/** Bytes of memory that are the group's own (not mapped from files); undefined where there is no /proc to tell. */
export async function memoryOf(group: number): Promise<number | undefined> {
  let entries: string[]
  try {
    entries = await readdir("/proc")
  } catch {
    return undefined
  }
  const sizes = await Promise.all(entries.filter((name) => /^\d+$/.test(name)).map((pid) => ownMemory(pid, group)))
  return sizes.reduce((sum, size) => sum + size, 0)
}

export function killGroup(group: number): void {
  try {
    process.kill(-group, "SIGKILL")
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error
  }
}

/** 0 for a process of another group, or one that is gone by now. */
async function ownMemory(pid: string, group: number): Promise<number> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8")
    // The name may hold anything but is followed by the last parenthesis; then come state, parent, group.
    if (Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[2]) !== group) return 0
    const status = await readFile(`/proc/${pid}/status`, "utf8")
    return [...status.matchAll(/^Rss(?:Anon|Shmem):\s+(\d+) kB$/gm)].reduce((sum, [, size]) => sum + Number(size) * 1_024, 0)
  } catch {
    return 0
  }
}
