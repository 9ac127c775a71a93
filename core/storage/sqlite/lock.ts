// One process to a data file. A second, empty database beside it is held locked by SQLite for as long as the process
// lives; the operating system drops the lock with the process, also on kill -9.
import { closeSync, openSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"

export interface FileLock {
  release(): void
}

/** Throws when another process (or another store of this one) holds the file. */
export function lockFile(file: string): FileLock {
  closeSync(openSync(`${file}.lock`, "a", 0o600))
  const database = new DatabaseSync(`${file}.lock`)
  try {
    database.exec("PRAGMA busy_timeout=0; PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE")
  } catch (error) {
    database.close()
    if (!(error instanceof Error && error.message.includes("locked"))) throw error
    throw new Error(
      `The data file ${file} is in use by another running process. Stop that one first, or set MILLRACE_DATA_DIR to another folder.`,
      { cause: error },
    )
  }
  return { release: () => database.close() }
}
