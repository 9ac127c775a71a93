// Opens the data file for writing and lays it out: tables and indexes that are missing are made, indexes no longer
// declared are dropped. Every problem is gathered before it throws.
import { DatabaseSync } from "node:sqlite"
import type { CollectionSpec } from "../../contract/collection.ts"
import { indexedPaths, indexesOf, jsonPath, type NamedIndex, tableOf } from "./schema.ts"

export interface FileSettings {
  readonly file: string
  /** Beyond this the file does not grow and commits are refused as `unavailable`. */
  readonly maxBytes?: number | undefined
}

const pageBytes = 8_192
/** Pages of the write-ahead log after which it is carried over: fewer, larger steps halved the time of a group. */
const checkpointPages = 8_000

export function openForWriting({ file, maxBytes }: FileSettings): DatabaseSync {
  const database = new DatabaseSync(file)
  database.exec(`PRAGMA page_size=${pageBytes}; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA busy_timeout=5000`)
  database.exec(`PRAGMA temp_store=MEMORY; PRAGMA cache_size=-65536; PRAGMA wal_autocheckpoint=${checkpointPages}`)
  database.exec("PRAGMA journal_size_limit=134217728")
  if (maxBytes !== undefined) database.exec(`PRAGMA max_page_count=${Math.max(1, Math.floor(maxBytes / pageBytes))}`)
  return database
}

export function layOut(database: DatabaseSync, collections: readonly CollectionSpec[]): void {
  database.exec("CREATE TABLE IF NOT EXISTS _groups(n INTEGER PRIMARY KEY, results TEXT NOT NULL)")
  database.exec("CREATE TABLE IF NOT EXISTS _probe(n INTEGER PRIMARY KEY, at INTEGER)")
  const problems: string[] = []
  for (const spec of collections) {
    try {
      layOutCollection(database, spec)
    } catch (error) {
      problems.push(error instanceof Error ? error.message : String(error))
    }
  }
  if (problems.length > 0) throw new Error(problems.join("\n"))
}

function layOutCollection(database: DatabaseSync, spec: CollectionSpec): void {
  const table = tableOf(spec)
  database.exec(
    `CREATE TABLE IF NOT EXISTS ${table}(n INTEGER PRIMARY KEY, org TEXT NOT NULL, id TEXT NOT NULL, data TEXT NOT NULL, multi INTEGER)`,
  )
  database.exec(`CREATE UNIQUE INDEX IF NOT EXISTS "${spec.name}__id" ON ${table}(org,id)`)
  const wanted = new Map(indexesOf(spec).map((index) => [index.name, index]))
  const found = database.prepare("SELECT name FROM sqlite_master WHERE type='index' AND tbl_name=? AND sql IS NOT NULL").all(spec.name)
  const present = new Set(found.map((row) => String(row["name"])))
  for (const name of present) if (!wanted.has(name) && name !== `${spec.name}__id`) database.exec(`DROP INDEX "${name}"`)
  const missing = [...wanted.values()].filter((index) => !present.has(index.name))
  if (missing.length === 0) return
  markLists(database, spec)
  for (const index of missing) create(database, spec, index)
}

/** Documents written before a path was indexed have not been looked at for lists there. */
function markLists(database: DatabaseSync, spec: CollectionSpec): void {
  const prefixes = new Set<string>()
  for (const path of indexedPaths(spec)) {
    const parts = path.split(".")
    for (let end = 1; end <= parts.length; end++) prefixes.add(parts.slice(0, end).join("."))
  }
  const meets = [...prefixes].map((prefix) => `json_type(data,${jsonPath(prefix)})='array'`)
  if (meets.length > 0) database.exec(`UPDATE ${tableOf(spec)} SET multi=1 WHERE multi IS NULL AND (${meets.join(" OR ")})`)
}

function create(database: DatabaseSync, spec: CollectionSpec, index: NamedIndex): void {
  try {
    database.exec(index.sql)
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error)
    throw new Error(`Collection "${spec.name}": the index on ${index.paths.join(", ")} cannot be made: ${cause}.`, { cause: error })
  }
}
