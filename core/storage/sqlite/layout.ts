// Opens the data file for writing and updates its layout. It creates missing tables, columns and indexes, drops undeclared ones,
// and converts tables of the first layout. It throws with all problems at once.
import { existsSync } from "node:fs"
import { DatabaseSync } from "node:sqlite"
import type { CollectionSpec } from "../../contract/collection.ts"
import { checkWhole } from "./damage.ts"
import { columnNamed, columnsOf, quoted } from "./keys.ts"
import { backfill, convert, defineKeyFunctions, firstLayout, leftToConvert } from "./migrate.ts"
import type { Organizations } from "./organizations.ts"
import { createPhrases, layOutPhrases, phrasesOf } from "./phrases.ts"
import { indexesOf, type NamedIndex, tableOf } from "./schema.ts"
import { shapeOf } from "./shape.ts"

export interface FileSettings {
  readonly file: string
  /** Maximum file size. At this size commits are refused with `unavailable`. */
  readonly maxBytes?: number | undefined
}

/** Existing files keep their page size. With 4,096 an event took a third less of the log, and 3 to 5 µs more of the writer. */
const pageBytes = 8_192
/** Bytes of the write-ahead log before the writer checkpoints all of it. Usually checkpoints.ts does it earlier. */
const checkpointBytes = 128 << 20
/** Version of this layout. Files of earlier layouts have 0. */
const layoutVersion = 3

export function openForWriting({ file, maxBytes }: FileSettings): DatabaseSync {
  // data-file.ts creates the file. On a restart of this thread, an empty file must not replace a missing file.
  if (!existsSync(file)) throw new Error("it no longer exists")
  const database = new DatabaseSync(file)
  database.exec(`PRAGMA page_size=${pageBytes}; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA busy_timeout=5000`)
  checkWhole(database, file)
  const bytes = numberOf(database, "page_size")
  // SQLite scans the whole cache at the end of every commit with a page split. A cache of 64 MB cost an event 4 µs more.
  database.exec(`PRAGMA temp_store=MEMORY; PRAGMA cache_size=-16384; PRAGMA wal_autocheckpoint=${Math.floor(checkpointBytes / bytes)}`)
  database.exec("PRAGMA journal_size_limit=268435456")
  // Overwrites deleted data in pages that are written anyway, but not in whole freed pages.
  database.exec("PRAGMA secure_delete=FAST")
  if (maxBytes !== undefined) database.exec(`PRAGMA max_page_count=${Math.max(1, Math.floor(maxBytes / bytes))}`)
  return database
}

export function layOut(database: DatabaseSync, collections: readonly CollectionSpec[], organizations: Organizations): void {
  const version = numberOf(database, "user_version")
  if (version > layoutVersion) {
    throw new Error(
      `it has layout ${version}, and this version of Millrace supports layouts up to ${layoutVersion}. Start the newer version`,
    )
  }
  database.exec("CREATE TABLE IF NOT EXISTS _groups(n INTEGER PRIMARY KEY, results TEXT NOT NULL)")
  database.exec("CREATE TABLE IF NOT EXISTS _probe(n INTEGER PRIMARY KEY, at INTEGER)")
  createPhrases(database)
  if (version < layoutVersion) database.exec(`PRAGMA user_version=${layoutVersion}`)
  defineKeyFunctions(database, collections, organizations)
  const problems: string[] = []
  const each = (specs: readonly CollectionSpec[], run: (spec: CollectionSpec) => void) => {
    for (const spec of specs) {
      try {
        run(spec)
      } catch (error) {
        problems.push(error instanceof Error ? error.message : String(error))
      }
    }
  }
  const tables = tableNames(database)
  const isNew = (spec: CollectionSpec) => !tables.has(spec.name) && !tables.has(leftToConvert(spec).slice(1, -1))
  // A new store needs a single flush, instead of a flush per table and index.
  database.exec("BEGIN IMMEDIATE")
  each(collections.filter(isNew), (spec) => createCollection(database, spec))
  if (database.isTransaction) database.exec("COMMIT")
  each(
    collections.filter((spec) => !isNew(spec)),
    (spec) => layOutCollection(database, spec),
  )
  if (problems.length > 0) throw new Error(problems.join("\n"))
}

function createCollection(database: DatabaseSync, spec: CollectionSpec): void {
  layOutPhrases(database, spec)
  createTable(database, spec)
  createIndexes(database, spec)
}

function layOutCollection(database: DatabaseSync, spec: CollectionSpec): void {
  const table = tableOf(spec)
  layOutPhrases(database, spec)
  if (firstLayout(database, spec)) database.exec(`ALTER TABLE ${table} RENAME TO ${leftToConvert(spec)}`)
  createTable(database, spec)
  dropIndexes(database, spec)
  convert(database, spec)
  alignColumns(database, spec)
  createIndexes(database, spec)
}

function createTable(database: DatabaseSync, spec: CollectionSpec): void {
  const keys = columnsOf(spec)
    .map((column) => `, ${quoted(column)}`)
    .join("")
  database.exec(
    `CREATE TABLE IF NOT EXISTS ${tableOf(spec)}(n INTEGER PRIMARY KEY, org INTEGER NOT NULL, id NOT NULL, multi INTEGER${keys}, data TEXT NOT NULL)`,
  )
}

function createIndexes(database: DatabaseSync, spec: CollectionSpec): void {
  database.exec(`CREATE UNIQUE INDEX IF NOT EXISTS "${spec.name}__id" ON ${tableOf(spec)}(org,id)`)
  for (const index of indexesOf(spec)) create(database, spec, index)
}

function dropIndexes(database: DatabaseSync, spec: CollectionSpec): void {
  const wanted = new Set([...indexesOf(spec).map((index) => index.name), `${spec.name}__id`])
  const found = database.prepare("SELECT name FROM sqlite_master WHERE type='index' AND tbl_name=? AND sql IS NOT NULL").all(spec.name)
  for (const { name } of found) if (!wanted.has(String(name))) database.exec(`DROP INDEX "${name}"`)
}

/** Adds columns of newly indexed paths, and drops columns of paths without an index. */
function alignColumns(database: DatabaseSync, spec: CollectionSpec): void {
  const table = tableOf(spec)
  const present = new Set(columnNames(database, table))
  const wanted = new Set(["n", "org", "id", "multi", "data", ...columnsOf(spec).map(({ name }) => name)])
  const unwanted = [...present].filter((name) => !wanted.has(name))
  const missing = columnsOf(spec).filter(({ name }) => !present.has(name))
  if (unwanted.length + missing.length === 0) return
  database.exec("BEGIN IMMEDIATE")
  try {
    for (const column of missing) database.exec(`ALTER TABLE ${table} ADD COLUMN ${quoted(column)}`)
    // A column may have the only copy of a value that the document's text omits.
    const columns = [...present].flatMap((name) => columnNamed(name) ?? [])
    backfill(database, spec, shapeOf(spec, phrasesOf(database, spec.name), columns))
    // Drops unused columns, because a later declaration must not treat them as filled.
    for (const name of unwanted) database.exec(`ALTER TABLE ${table} DROP COLUMN "${name}"`)
    database.exec("COMMIT")
  } catch (error) {
    if (database.isTransaction) database.exec("ROLLBACK")
    throw error
  }
}

function create(database: DatabaseSync, spec: CollectionSpec, index: NamedIndex): void {
  try {
    database.exec(index.sql.replace("INDEX ", "INDEX IF NOT EXISTS "))
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error)
    throw new Error(`Collection "${spec.name}": the index on ${index.paths.join(", ")} cannot be created: ${cause}.`, { cause: error })
  }
}

function tableNames(database: DatabaseSync): Set<string> {
  return new Set(
    database
      .prepare("SELECT name FROM sqlite_master WHERE type='table'")
      .all()
      .map(({ name }) => String(name)),
  )
}

function columnNames(database: DatabaseSync, table: string): string[] {
  return database
    .prepare(`SELECT name FROM pragma_table_info(${table.replaceAll('"', "'")})`)
    .all()
    .map((row) => String(row["name"]))
}

function numberOf(database: DatabaseSync, pragma: string): number {
  return Number(database.prepare(`PRAGMA ${pragma}`).get()?.[pragma])
}
