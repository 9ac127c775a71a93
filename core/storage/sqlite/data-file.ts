// Checks the presence of the data file. At start it refuses to replace a lost store with a new store. At run time it checks that
// commits go to the file of the next start.
import { accessSync, closeSync, constants, existsSync, mkdirSync, openSync, type Stats, statSync } from "node:fs"
import { dirname } from "node:path"

/** Files beside a data file: its log, and the number of its last commit. */
const besideDataFile = ["-wal", "-commits"] as const

/**
 * Creates the folder, and an empty file if there was no earlier store. Throws if an earlier store exists without its file, or if
 * the folder is not writable. `traces` are further files of an earlier store.
 */
export function claimDataFile(file: string, traces: readonly string[]): void {
  const folder = dirname(file)
  writing(folder, () => {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    accessSync(folder, constants.W_OK)
    if (existsSync(file)) accessSync(file, constants.R_OK | constants.W_OK)
  })
  if (sizeOf(file) > 0) return
  const left = [...besideDataFile.map((suffix) => file + suffix), ...traces].filter((path) => sizeOf(path) > 0)
  if (left.length > 0) {
    const state = existsSync(file) ? "is empty" : "is not there"
    throw new Error(
      `The data file ${file} ${state}, but a store existed here: ${left.join(", ")} ${left.length === 1 ? "remains" : "remain"}. Restore the file, or a backup by \`millrace restore FILE\`. To start with an empty store, move the remaining files away, or set MILLRACE_DATA_DIR to another folder. Nothing was changed.`,
    )
  }
  // Created here, so SQLite uses this mode for the file and its log.
  writing(folder, () => closeSync(openSync(file, "a", 0o600)))
}

function writing(folder: string, run: () => void): void {
  try {
    run()
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new Error(
      `${folder} or a file in it cannot be written to (${code}). The service needs a separate folder that its user can write to.`,
      { cause: error },
    )
  }
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

/** Checks that the open file and its log still exist in place. A check takes about 5 µs. */
export class OpenedFile {
  readonly #file: string
  readonly #inodes: readonly (readonly [path: string, inode: number])[]
  #bytes = 0

  /** Create this after both files are open. */
  constructor(file: string) {
    this.#file = file
    this.#inodes = [file, `${file}-wal`].flatMap((path) => {
      const found = statSync(path, { throwIfNoEntry: false })
      return found ? [[path, found.ino] as const] : []
    })
  }

  /** Returns undefined, or a description of the fault. */
  gone(): string | undefined {
    for (const [path, inode] of this.#inodes) {
      const found: Stats | undefined = statSync(path, { throwIfNoEntry: false })
      if (found?.ino !== inode) return this.#tell(`${path} was deleted or moved`)
      if (path !== this.#file) continue
      // The file never shrinks while the service runs.
      if (found.size < this.#bytes) return this.#tell(`${path} was truncated, from ${this.#bytes} to ${found.size} bytes,`)
      this.#bytes = found.size
    }
    return undefined
  }

  #tell(what: string): string {
    return `${what} while the service was running; further commits would be lost. Stop it, restore the file (or a backup, by \`millrace restore FILE\`) and start it again.`
  }
}
