// Damage to the data file: what of it can be found at start, and how SQLite tells of the rest when it comes upon it.
// A damaged file is not written to again, since every write may spread what is wrong.
import { statSync } from "node:fs"
import type { DatabaseSync } from "node:sqlite"
import { AppError } from "../../kernel/errors.ts"

/** SQLITE_CORRUPT and SQLITE_NOTADB. */
const damageCodes = new Set([11, 26])

/** Whether SQLite found the file to be damaged, or not to be a database. */
export function isDamage(error: unknown): boolean {
  const { errcode } = (error ?? {}) as { errcode?: number }
  return errcode !== undefined && damageCodes.has(errcode & 0xff)
}

/** Whether there is no room for what was to be written (SQLITE_FULL): on the disk, or within the file's largest size. */
export function isFull(error: unknown): boolean {
  const { errcode } = (error ?? {}) as { errcode?: number }
  return errcode !== undefined && (errcode & 0xff) === 13
}

/** Files up to this size are read whole at start; 140 MB took 0.2 s. */
const checkedBytes = 256 << 20

/** Throws where the file ends early or, up to 256 MB, where a page of it or an index is not as it must be. */
export function checkWhole(database: DatabaseSync, file: string): void {
  const pages = numberOf(database, "page_count")
  const pageBytes = numberOf(database, "page_size")
  if (statSync(file).size < pages * pageBytes) {
    // Pages that are in the log only are not missing. The log stays as it was found: what it has lost is told by it.
    database.exec("PRAGMA wal_checkpoint(PASSIVE)")
    const { size } = statSync(file)
    if (size < pages * pageBytes) throw new Error(`it is truncated: it has ${size} bytes of ${pages * pageBytes}`)
  }
  if (pages * pageBytes > checkedBytes) return
  const [found] = database.prepare("PRAGMA quick_check(1)").all()
  if (found?.["quick_check"] !== "ok") throw new Error(`it is damaged: ${String(found?.["quick_check"])}`)
}

function numberOf(database: DatabaseSync, pragma: string): number {
  return Number(database.prepare(`PRAGMA ${pragma}`).get()?.[pragma])
}

/** What reading or changing a document fails with where its text is not JSON. */
export function unreadableDocument(table: string): AppError {
  const message = `A document of ${table} was damaged on disk and cannot be read. A backup may still hold it.`
  return new AppError("data_loss", message, { reason: "document_unreadable" })
}
