// Allows a single process per data file. SQLite locks a second, empty database beside the file for the life of the process. The
// operating system releases the lock with the process, even after kill -9.
import { closeSync, openSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"

export interface FileLock {
  release(): void
}

/** Throws if another process (or another store of this process) has locked the file. */
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
