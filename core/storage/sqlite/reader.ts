// A thread that reads: one read-only connection, one list of queries at a time. A registered function in every
// condition decides what matches and throws once the deadline has passed, since SQLite's statements cannot be
// interrupted from outside the thread.
import { DatabaseSync, type StatementSync } from "node:sqlite"
import { parentPort, workerData } from "node:worker_threads"
import type { Json } from "../../contract/collection.ts"
import { type Matcher, matcher } from "../match.ts"
import { isDamage } from "./damage.ts"
import { idKey } from "./id-key.ts"
import type { KeyCell } from "./keys.ts"
import { allPhrases, lengthened } from "./phrases.ts"
import { statementOf } from "./query.ts"
import { organizationSql } from "./schema.ts"
import { documentColumns, type Shape, wholeText } from "./shape.ts"
import type { ReaderData, ReaderReply, WireError, WireLookUp, WireQuery, WireRead } from "./wire.ts"

const { file, shapes: declared } = workerData as ReaderData
const database = new DatabaseSync(file, { readOnly: true })
database.exec("PRAGMA cache_size=-16384; PRAGMA mmap_size=268435456; PRAGMA busy_timeout=5000")
const phrases = allPhrases(database)
const shapes = new Map(
  Object.entries(declared).map(([table, shape]) => [table, { ...shape, phrases: phrases.get(table.replaceAll('"', "")) ?? [] }]),
)

const statements = new Map<string, StatementSync>()
const maxStatements = 500

/** What a read has of the thread though it has waited past its deadline: a machine that stood still refuses none that needs no more. */
const ownMs = 20

let table = ""
let organization = ""
let [lastText, lastPlain] = ["", ""]
const unreadable = new Set<string>()
let matches: Matcher | undefined
let deadline = 0
let calls = 0

class DeadlinePassed extends Error {}

// Not deterministic: it must be called for every document, also where its argument does not change.
database.function("mr_matches", { varargs: true }, (...row) => {
  if ((++calls & 31) === 0 && now() > deadline) throw new DeadlinePassed()
  if (!matches) return 1
  const document = parsed(wholeText(shapeOf(table), organization, row as readonly KeyCell[]))
  return document !== undefined && matches(document) ? 1 : 0
})
// One damaged document must not hide those around it.
database.function("mr_sound", (data) => (parsed(plain(data)) === undefined ? 0 : 1))
database.function("mr_plain", { deterministic: true }, plain)

parentPort?.on("message", (queries: readonly WireRead[]) => {
  unreadable.clear()
  const answers = queries.map(answer)
  parentPort?.postMessage({ answers, unreadable: [...unreadable] } satisfies ReaderReply)
})

/** The text of a document with its phrases; SQL asks for one several times in a row. */
function plain(data: unknown): string {
  const text = String(data)
  if (text !== lastText) [lastText, lastPlain] = [text, lengthened(text, shapeOf(table).phrases)]
  return lastPlain
}

function parsed(data: unknown): Json | undefined {
  try {
    return JSON.parse(String(data)) as Json
  } catch {
    unreadable.add(table)
    return undefined
  }
}

function answer(query: WireRead): string | number | WireError {
  if (!("table" in query)) {
    matches = undefined
    deadline = Number.POSITIVE_INFINITY
    if ("lookUp" in query) return reading(() => lookUp(query))
    return reading(() => organizationsIn(query.organizationsIn))
  }
  ;({ table, organization } = query)
  lastText = lastPlain = ""
  deadline = Math.max(query.deadline, now() + ownMs)
  return reading(() => (query.narrowsKeys ? inOneSnapshot(() => run(query, hasMulti(query))) : run(query, false)))
}

function reading(read: () => string | number): string | number | WireError {
  try {
    return read()
  } catch (error) {
    // SQLite's error may differ; the clock tells a timeout.
    if (error instanceof DeadlinePassed || now() > deadline) return late()
    if (isDamage(error)) {
      const told = `The data file ${file} is damaged: ${error instanceof Error ? error.message : String(error)}.`
      return { code: "unavailable", message: told, details: { reason: "storage_corrupt" } }
    }
    const message = `Storage could not be read: ${error instanceof Error ? error.message : String(error)}`
    return { code: "unavailable", message, details: { reason: "read_failed" } }
  }
}

function run(query: WireQuery, multi: boolean): string | number {
  const shape = shapeOf(query.table)
  const { sql, binds } = statementOf(query, shape, multi)
  matches = query.filter && (multi || !query.exact) ? matcher(query.filter) : undefined
  if (query.count) return Number(prepared(sql).get(...binds)?.["n"])
  const rows = preparedForRows(sql).all(...binds) as unknown as readonly KeyCell[][]
  return `[${rows.map((row) => wholeText(shape, organization, row)).join(",")}]`
}

function lookUp({ lookUp: table, organization, id }: WireLookUp): string {
  const shape = shapeOf(table)
  const sql = `SELECT ${documentColumns(shape)} FROM ${table} WHERE org=${organizationSql} AND id=?`
  const found = preparedForRows(sql).get(organization, idKey(id)) as unknown as readonly KeyCell[] | undefined
  return found ? `[${wholeText(shape, organization, found)}]` : "[]"
}

function shapeOf(table: string): Shape {
  const shape = shapes.get(table)
  if (!shape) throw new Error(`The table ${table} is not open`)
  return shape
}

function organizationsIn(table: string): string {
  const rows = prepared(`SELECT id FROM _organizations WHERE EXISTS (SELECT 1 FROM ${table} WHERE org=_organizations.n)`).all()
  return JSON.stringify(rows.map((row) => row["id"]))
}

function hasMulti(query: WireQuery): boolean {
  return (
    prepared(`SELECT 1 FROM ${query.table} WHERE org=${organizationSql} AND multi IS NOT NULL LIMIT 1`).get(query.organization) !==
    undefined
  )
}

function inOneSnapshot<T>(read: () => T): T {
  prepared("BEGIN").run()
  try {
    return read()
  } finally {
    prepared("COMMIT").run()
  }
}

function prepared(sql: string): StatementSync {
  const known = statements.get(sql)
  if (known) return known
  if (statements.size >= maxStatements) statements.clear()
  const statement = database.prepare(sql)
  statements.set(sql, statement)
  return statement
}

/** A statement whose rows are lists of cells. */
function preparedForRows(sql: string): StatementSync {
  const statement = prepared(sql)
  statement.setReturnArrays(true)
  return statement
}

function now(): number {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1_000 + nanoseconds / 1e6
}

function late(): WireError {
  const message = "The read timed out. Narrow the filter, sort by an indexed field or read less."
  return { code: "deadline_exceeded", message, details: { reason: "read_timeout" } }
}
