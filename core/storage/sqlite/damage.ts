// Detects damage of the data file at start, and recognises SQLite's errors for later damage. The store stops writing to a damaged
// file, because every write may spread the damage.
import { statSync } from "node:fs"
import type { DatabaseSync } from "node:sqlite"
import { AppError } from "../../kernel/errors.ts"

/** SQLITE_CORRUPT and SQLITE_NOTADB. */
const damageCodes = new Set([11, 26])

/** Returns true if SQLite found the file damaged, or not a database. */
export function isDamage(error: unknown): boolean {
  const { errcode } = (error ?? {}) as { errcode?: number }
  return errcode !== undefined && damageCodes.has(errcode & 0xff)
}

/** Returns true if a write had no space (SQLITE_FULL): on the disk, or within the file's maximum size. */
export function isFull(error: unknown): boolean {
  const { errcode } = (error ?? {}) as { errcode?: number }
  return errcode !== undefined && (errcode & 0xff) === 13
}

/** Files up to this size are read completely at start. 140 MB took 0.2 s. */
const checkedBytes = 256 << 20

/** Throws if the file is truncated. Up to 256 MB it also throws if a page or an index is damaged. */
export function checkWhole(database: DatabaseSync, file: string): void {
  const pages = numberOf(database, "page_count")
  const pageBytes = numberOf(database, "page_size")
  if (statSync(file).size < pages * pageBytes) {
    // Pages may exist only in the log. The log stays unmodified, because it is needed to report lost commits.
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

/** Returns the error for a read or change of a document whose text is not JSON. */
export function unreadableDocument(table: string): AppError {
  const message = `A document of ${table} was damaged on disk and cannot be read. A backup may still hold it.`
  return new AppError("data_loss", message, { reason: "document_unreadable" })
}
