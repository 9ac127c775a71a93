// Fills new key columns, and converts tables of the first layout. These had text for organization and id, and expressions for
// keys. They are renamed and moved in steps, so the file grows little, and an interrupted start can continue.
import type { DatabaseSync } from "node:sqlite"
import type { CollectionSpec } from "../../contract/collection.ts"
import { parsedJson } from "../../kernel/json.ts"
import { idKey } from "./id-key.ts"
import { columnsOf, type KeyCell, keyReader, quoted } from "./keys.ts"
import type { Organizations } from "./organizations.ts"
import { shortener } from "./phrases.ts"
import { rowColumns, tableOf } from "./schema.ts"
import { documentColumns, type Shape, shapeOf, storedText, wholeText } from "./shape.ts"

const documentsPerStep = 1_000

/**
 * Registers SQL functions: `mr_org(text)`, `mr_id(text)` and `mr_cell(collection, data, at)`. Cell 0 is `multi`, and the columns
 * follow.
 */
export function defineKeyFunctions(database: DatabaseSync, collections: readonly CollectionSpec[], organizations: Organizations): void {
  const readers = new Map(collections.map((spec) => [spec.name, keyReader(columnsOf(spec))]))
  let [lastName, lastText]: [unknown, unknown] = [undefined, undefined]
  let cells: KeyCell[] = []
  database.function("mr_org", (id) => organizations.numberOf(String(id)))
  database.function("mr_id", (id) => idKey(String(id)))
  database.function("mr_cell", (name, text, at) => {
    if (name !== lastName || text !== lastText) {
      ;[lastName, lastText, cells] = [name, text, []]
      readers.get(String(name))?.(JSON.parse(String(text)) as object, cells)
    }
    return cells[Number(at)] ?? null
  })
}

/** Name of a first-layout table until its conversion. No collection can have this name. */
export function leftToConvert(spec: CollectionSpec): string {
  return `"${spec.name} of the first layout"`
}

export function firstLayout(database: DatabaseSync, spec: CollectionSpec): boolean {
  const columns = database.prepare(`SELECT type FROM pragma_table_info('${spec.name}') WHERE name='org'`).all()
  return columns.some((row) => row["type"] === "TEXT")
}

/** Moves the remaining documents. Rows keep their numbers, and so their order. */
export function convert(database: DatabaseSync, spec: CollectionSpec): void {
  const [from, to] = [leftToConvert(spec), tableOf(spec)]
  if (!database.prepare("SELECT 1 FROM sqlite_master WHERE type='table' AND name=?").get(from.slice(1, -1))) return
  // Drops the old indexes. They are unused, and each step would update them.
  const indexes = database
    .prepare("SELECT name FROM sqlite_master WHERE type='index' AND tbl_name=? AND sql IS NOT NULL")
    .all(from.slice(1, -1))
  for (const { name } of indexes) database.exec(`DROP INDEX "${name}"`)
  const cells = columnsOf(spec).map((_, at) => `mr_cell('${spec.name}',data,${at + 1}),`)
  const move = database.prepare(
    `INSERT INTO ${to}(n,${rowColumns(spec).join(",")}) SELECT n,mr_org(org),mr_id(id),mr_cell('${spec.name}',data,0),${cells.join("")}data FROM ${from} ORDER BY n LIMIT ${documentsPerStep}`,
  )
  const remove = database.prepare(`DELETE FROM ${from} WHERE n<=(SELECT max(n) FROM ${to})`)
  for (let more = true; more; ) {
    database.exec("BEGIN IMMEDIATE")
    try {
      more = Number(move.run().changes) > 0
      if (more) remove.run()
      else database.exec(`DROP TABLE ${from}`)
      database.exec("COMMIT")
    } catch (error) {
      if (database.isTransaction) database.exec("ROLLBACK")
      throw error
    }
  }
}

/** Recomputes every column, and writes the text in the current form. `present` describes the omissions of earlier texts. */
export function backfill(database: DatabaseSync, spec: CollectionSpec, present: Shape): void {
  const columns = columnsOf(spec)
  const names = ["multi", ...columns.map(quoted), "data"]
  const [shape, readKeys, shorten] = [shapeOf(spec), keyReader(columns), shortener(spec, present.phrases)]
  let lastRow: unknown
  let cells: KeyCell[] = []
  database.function("mr_rewritten", { varargs: true }, (at, n, organization, ...row) => {
    if (n !== lastRow) {
      const [id, found] = [String(organization), row as readonly KeyCell[]]
      const document = parsedJson(wholeText(present, id, found)) as object | undefined
      ;[lastRow, cells] = [n, []]
      // A damaged document keeps its text and the values of its columns.
      readKeys(document ?? (JSON.parse(wholeText(present, id, ["{}", ...found.slice(1)])) as object), cells)
      cells.push(document ? shorten(storedText(shape, document, id)) : (found[0] as string))
    }
    return cells[Number(at)] ?? null
  })
  const row = `n,(SELECT id FROM _organizations WHERE n=org),${documentColumns(present)}`
  database.exec(`UPDATE ${tableOf(spec)} SET ${names.map((name, at) => `${name}=mr_rewritten(${at},${row})`).join(",")}`)
}
