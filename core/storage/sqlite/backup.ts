// Backs up the data file during writes of a service, and restores a backup. The copy contains a checksum of all documents at the
// same point in time. A backup is valid only after it was read back and compared.
import { closeSync, existsSync, fsyncSync, linkSync, openSync, renameSync, rmSync, statSync } from "node:fs"
import { dirname } from "node:path"
import { backup, DatabaseSync } from "node:sqlite"
import type { CollectionSpec } from "../../contract/collection.ts"
import { carryDocuments } from "./carry.ts"
import { backupTable, type Checksum, checksumOf } from "./checksum.ts"
import { isDamage } from "./damage.ts"
import { lockFile } from "./lock.ts"

export interface BackupReport extends Checksum {
  readonly made_at: string
}

export interface RestoreReport extends BackupReport {
  /** Path of the replaced data file. undefined if there was no data file. */
  readonly aside: string | undefined
  /** Documents of `kept` collections in the replaced file. undefined if there was no file or it was unreadable. */
  readonly carried: number | undefined
  /** RFC 3339. Time of the last change of the replaced file. */
  readonly replacedAt: string | undefined
}

/** Copies all pages in a single step. A copy in several steps would restart on each write of the service. */
const everyPage = 0x7fff_ffff

/** Writes a copy of `source` to `target`. Throws if `target` exists, the source is damaged, or the copy differs from the source. */
export async function backUp(source: string, target: string, madeAt: string): Promise<BackupReport> {
  if (!existsSync(source)) throw new Error(`The data file ${source} does not exist; set MILLRACE_DATA_DIR to the folder of the service.`)
  if (existsSync(target)) throw new Error(`${target} exists already; name a new file.`)
  const draft = `${target}.partial`
  removeFile(draft)
  const database = new DatabaseSync(source, { readOnly: true })
  try {
    database.exec("PRAGMA busy_timeout=5000")
    // The first read fixes the point in time. The copy has the same point in time, despite concurrent writes.
    const sum = await naming(`The data file ${source}`, "Restore a backup with `millrace restore FILE`.", async () => {
      database.exec("BEGIN")
      const read = checksumOf(database)
      // Creates the file here to set its mode.
      closeSync(openSync(draft, "wx", 0o600))
      await backup(database, draft, { rate: everyPage })
      database.exec("COMMIT")
      return read
    })
    seal(draft, { ...sum, made_at: madeAt })
    const report = verifyBackup(draft)
    if (report.sha256 !== sum.sha256) throw new Error("The copy differs from the source; the disk may be failing. Nothing was kept.")
    flush(draft)
    renameSync(draft, target)
    flush(dirname(target))
    return report
  } finally {
    database.close()
    removeFile(draft)
  }
}

/** Reads and checks a whole backup. Throws if the file is not a backup, or was changed since. */
export function verifyBackup(file: string): BackupReport {
  if (!existsSync(file)) throw new Error(`The file ${file} does not exist.`)
  const database = new DatabaseSync(file, { readOnly: true })
  try {
    const sealed = sealOf(database, file)
    const sum = naming(`The backup ${file}`, "Use another one.", () => {
      const [integrity] = database.prepare("PRAGMA integrity_check(1)").all()
      if (integrity?.["integrity_check"] !== "ok") throw new Error(`${file} is damaged: ${String(integrity?.["integrity_check"])}.`)
      return checksumOf(database)
    })
    if (sum.sha256 !== sealed.sha256)
      throw new Error(`${file} is damaged: its documents have the checksum ${sum.sha256}, and had ${sealed.sha256} when it was made.`)
    return { ...sum, made_at: sealed.made_at }
  } finally {
    database.close()
  }
}

/**
 * Restores the backup as the service's data file. Throws without a change if a service uses the data file, or the backup is
 * damaged.
 */
export async function restore(from: string, target: string, now: string, kept: readonly CollectionSpec[] = []): Promise<RestoreReport> {
  const report = verifyBackup(from)
  const lock = lockFile(target)
  const draft = `${target}.restoring`
  try {
    removeFile(draft)
    const source = new DatabaseSync(from, { readOnly: true })
    closeSync(openSync(draft, "wx", 0o600))
    await backup(source, draft, { rate: everyPage }).finally(() => source.close())
    unseal(draft)
    const copied = new DatabaseSync(draft, { readOnly: true })
    const sum = checksumOf(copied)
    copied.close()
    if (sum.sha256 !== report.sha256)
      throw new Error("The restored copy differs from the backup; the disk may be failing. Nothing was changed.")
    const replacedAt = lastChange(target)
    const carried = kept.length > 0 && carryOver(target) ? await carryDocuments(target, draft, kept).catch(() => undefined) : undefined
    if (kept.length > 0) carryOver(draft)
    flush(draft)
    const aside = existsSync(target) || existsSync(`${target}-wal`) ? setAside(target, now) : undefined
    // The number of the last commit belongs to the old file.
    rmSync(`${target}-commits`, { force: true })
    // Renames over the old file, so a data file exists at all times.
    renameSync(draft, target)
    flush(dirname(target))
    return { ...report, aside, carried, replacedAt }
  } finally {
    removeFile(draft)
    lock.release()
  }
}

/** Renames the old file. Its log must not stay, because SQLite would replay it onto the restored file. */
function setAside(target: string, now: string): string {
  const aside = `${target}.before-${now.replaceAll(/[:.]/g, "-")}`
  // The file may be damaged or missing, a common reason for a restore. The remains stay unchanged, including the log.
  if (!carryOver(target) && existsSync(`${target}-wal`)) linkSync(`${target}-wal`, `${aside}-wal`)
  if (existsSync(target)) linkSync(target, aside)
  for (const suffix of ["-wal", "-shm"]) rmSync(target + suffix, { force: true })
  return aside
}

function lastChange(file: string): string | undefined {
  const times = [file, `${file}-wal`].flatMap((path) => (existsSync(path) ? [statSync(path).mtimeMs] : []))
  return times.length > 0 ? new Date(Math.max(...times)).toISOString() : undefined
}

/** Checkpoints the log into the file. Returns false on failure. */
function carryOver(file: string): boolean {
  if (!existsSync(file)) return false
  try {
    const database = new DatabaseSync(file)
    try {
      database.exec("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode=DELETE")
      return true
    } finally {
      database.close()
    }
  } catch {
    return false
  }
}

/** Adds the file and a remedy to SQLite's errors. */
function naming<T>(what: string, remedy: string, run: () => T): T {
  const told = (error: unknown): never => {
    if (!isDamage(error)) throw error
    throw new Error(`${what} is damaged: ${(error as Error).message}. ${remedy} Nothing was changed.`, { cause: error })
  }
  try {
    const result = run()
    return result instanceof Promise ? (result.catch(told) as T) : result
  } catch (error) {
    return told(error)
  }
}

function seal(file: string, { sha256, documents, made_at }: BackupReport): void {
  const database = new DatabaseSync(file)
  // A single file without a log, so it can be moved alone.
  database.exec("PRAGMA journal_mode=DELETE; PRAGMA synchronous=FULL")
  database.exec(`CREATE TABLE ${backupTable}(sha256 TEXT NOT NULL, documents INTEGER NOT NULL, made_at TEXT NOT NULL)`)
  database.prepare(`INSERT INTO ${backupTable} VALUES(?,?,?)`).run(sha256, documents, made_at)
  database.close()
}

function unseal(file: string): void {
  const database = new DatabaseSync(file)
  database.exec(`PRAGMA synchronous=FULL; DROP TABLE ${backupTable}`)
  database.close()
}

function sealOf(database: DatabaseSync, file: string): { sha256: string; made_at: string } {
  try {
    const row = database.prepare(`SELECT sha256,made_at FROM ${backupTable}`).get()
    if (row) return { sha256: String(row["sha256"]), made_at: String(row["made_at"]) }
  } catch (cause) {
    throw new Error(`${file} is not a backup that \`millrace backup\` made.`, { cause })
  }
  throw new Error(`${file} is an unfinished backup.`)
}

function flush(path: string): void {
  const descriptor = openSync(path, "r")
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

function removeFile(path: string): void {
  for (const suffix of ["", "-journal", "-wal", "-shm", "-commits"]) rmSync(path + suffix, { force: true })
}
