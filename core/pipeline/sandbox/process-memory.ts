// The resident memory of another process, as /proc tells it.
import { readFile } from "node:fs/promises"

const pageBytes = 4_096

/** In MB; 0 where it can't be read: the process is gone, or the system has no /proc. */
export async function residentMb(pid: number | undefined): Promise<number> {
  try {
    const [, resident = "0"] = (await readFile(`/proc/${pid}/statm`, "utf8")).split(" ")
    return (Number(resident) * pageBytes) / 1_048_576
  } catch {
    return 0
  }
}
