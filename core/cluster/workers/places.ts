// Where the processes of one service meet on one machine: sockets in a folder of the data folder that only this user may
// enter.
import { mkdirSync } from "node:fs"
import { join, relative, resolve } from "node:path"

export interface Places {
  readonly folder: string
  /** Where workers reach their parent. */
  readonly parent: string
  /** Where a worker takes what belongs to its live sockets. */
  doorOf(slot: number): string
}

/** Addresses of sockets have 108 bytes, of which the system keeps a few. */
const longest = 103

/** Makes the folder. Throws where its path is too long to hold sockets. */
export function placesIn(dataDir: string): Places {
  const folder = resolve(dataDir, "workers")
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const parent = shorter(join(folder, "parent.sock"))
  if (Buffer.byteLength(parent) > longest) {
    throw new Error(
      `The path of the data folder is too long for several workers: the sockets in ${folder} may have ${longest} bytes in their paths. Set MILLRACE_DATA_DIR to a shorter one, or MILLRACE_WORKERS to 1.`,
    )
  }
  return { folder, parent, doorOf: (slot) => shorter(join(folder, `${slot}.sock`)) }
}

/** Workers have the same working folder. */
function shorter(path: string): string {
  const near = relative(process.cwd(), path)
  return near.length < path.length ? near : path
}
