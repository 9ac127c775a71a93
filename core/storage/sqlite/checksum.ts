// A checksum of a whole data file: every value of every row of every table, in file order. Files with equal checksums have equal
// documents.
import { createHash, type Hash } from "node:crypto"
import type { DatabaseSync, SQLOutputValue } from "node:sqlite"

export interface Checksum {
  readonly sha256: string
  /** Number of documents in all collections. */
  readonly documents: number
}

/** Table added by a backup. */
export const backupTable = "_backup"

export function checksumOf(database: DatabaseSync): Checksum {
  const total = createHash("sha256")
  let documents = 0
  const tables = database
    .prepare("SELECT name FROM sqlite_master WHERE type='table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY name")
    .all()
  for (const { name } of tables) {
    if (name === backupTable) continue
    const rows = addTable(total, database, String(name))
    // A name with the prefix _ is an internal table of the store.
    if (!String(name).startsWith("_")) documents += rows
  }
  return { sha256: total.digest("hex"), documents }
}

/** Each value is hashed with its type and length, so different rows have different input. */
function addTable(hash: Hash, database: DatabaseSync, table: string): number {
  hash.update(`table ${table.length}:${table}`)
  const statement = database.prepare(`SELECT * FROM "${table}"`)
  statement.setReadBigInts(true)
  let rows = 0
  for (const row of statement.iterate() as Iterable<Record<string, SQLOutputValue>>) {
    rows++
    for (const value of Object.values(row)) addValue(hash, value)
  }
  return rows
}

function addValue(hash: Hash, value: SQLOutputValue): void {
  if (value === null) hash.update("null;")
  else if (value instanceof Uint8Array) hash.update(`bytes ${value.byteLength}:`).update(value)
  else {
    const text = String(value)
    hash.update(`${typeof value} ${Buffer.byteLength(text)}:${text}`)
  }
}
