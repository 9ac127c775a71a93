// Reader thread with a read-only connection. It handles a list of queries at a time. A registered function in every condition
// decides about matches, and throws after the deadline. SQLite's statements cannot be interrupted from outside the thread.
import { DatabaseSync, type StatementSync } from "node:sqlite"
import type { Json } from "../../contract/collection.ts"
import { type Matcher, matcher } from "../match.ts"
import { isDamage } from "./damage.ts"
import { idKey } from "./id-key.ts"
import type { KeyCell } from "./keys.ts"
import { allPhrases, lengthened } from "./phrases.ts"
import { statementOf } from "./query.ts"
import { organizationSql } from "./schema.ts"
import { type Serving, serve } from "./serve.ts"
import { documentColumns, type Shape, wholeText } from "./shape.ts"
import type { ReaderData, ReaderReply, ReaderRequest, WireError, WireLookUp, WireQuery, WireRead } from "./wire.ts"

const maxStatements = 500

/** Minimum milliseconds of a read, even after its deadline. After a pause of the machine, a short read still succeeds. */
const ownMs = 20

/** The main thread parses this many characters in a few milliseconds. */
const maxReplyCharacters = 500_000

class DeadlinePassed extends Error {}

class Reader implements Serving<ReaderRequest, ReaderReply> {
  readonly #file: string
  readonly #database: DatabaseSync
  readonly #shapes: ReadonlyMap<string, Shape>
  readonly #statements = new Map<string, StatementSync>()
  readonly #unreadable = new Set<string>()
  #table = ""
  #organization = ""
  #lastText = ""
  #lastPlain = ""
  #matches: Matcher | undefined
  #deadline = 0
  #calls = 0
  #queries: Iterator<WireRead> = [].values()
  /** Document texts left for the next reply. */
  #left: string[] = []

  constructor({ file, shapes }: ReaderData) {
    this.#file = file
    this.#database = new DatabaseSync(file, { readOnly: true })
    this.#database.exec("PRAGMA cache_size=-16384; PRAGMA mmap_size=268435456; PRAGMA busy_timeout=5000")
    const phrases = allPhrases(this.#database)
    this.#shapes = new Map(
      Object.entries(shapes).map(([table, shape]) => [table, { ...shape, phrases: phrases.get(table.replaceAll('"', "")) ?? [] }]),
    )
    const plain = (data: unknown) => this.#plain(data)
    // Declared as not deterministic, so SQLite calls it for every document, even with constant arguments.
    this.#database.function("mr_matches", { varargs: true }, (...row) => this.#matchesRow(row as readonly KeyCell[]))
    // A damaged document must not hide the other documents.
    this.#database.function("mr_sound", (data) => (this.#parsed(plain(data)) === undefined ? 0 : 1))
    this.#database.function("mr_plain", { deterministic: true }, plain)
  }

  answer(request: ReaderRequest): ReaderReply {
    if (request !== "more") this.#queries = request.values()
    this.#unreadable.clear()
    const answers: (string | number | WireError)[] = []
    let isAnswered = false
    for (let room = maxReplyCharacters; room > 0; ) {
      const query = this.#left.length > 0 ? undefined : this.#queries.next()
      if (query?.done) {
        isAnswered = true
        break
      }
      const found = query ? this.#answer(query.value) : this.#left
      if (Array.isArray(found)) {
        const count = fitting(found, room)
        const text = `[${found.slice(0, count).join(",")}]`
        this.#left = found.slice(count)
        room = this.#left.length > 0 ? 0 : room - text.length
        answers.push(text)
      } else answers.push(found)
    }
    return { answers, isCut: this.#left.length > 0, hasMore: !isAnswered, unreadable: [...this.#unreadable] }
  }

  close(): void {
    this.#database.close()
  }

  #matchesRow(row: readonly KeyCell[]): number {
    if ((++this.#calls & 31) === 0 && now() > this.#deadline) throw new DeadlinePassed()
    if (!this.#matches) return 1
    const document = this.#parsed(wholeText(this.#shapeOf(this.#table), this.#organization, row))
    return document !== undefined && this.#matches(document) ? 1 : 0
  }

  /** Returns a document's text with its phrases. Cached, because SQL requests the same text several times in a row. */
  #plain(data: unknown): string {
    const text = String(data)
    if (text !== this.#lastText) {
      this.#lastPlain = lengthened(text, this.#shapeOf(this.#table).phrases)
      this.#lastText = text
    }
    return this.#lastPlain
  }

  #parsed(data: unknown): Json | undefined {
    try {
      return JSON.parse(String(data)) as Json
    } catch {
      this.#unreadable.add(this.#table)
      return undefined
    }
  }

  #answer(query: WireRead): string[] | number | WireError {
    if (!("table" in query)) {
      this.#matches = undefined
      this.#deadline = Number.POSITIVE_INFINITY
      if ("lookUp" in query) return this.#reading(() => this.#lookUp(query))
      return this.#reading(() => this.#organizationsIn(query.organizationsIn))
    }
    this.#table = query.table
    this.#organization = query.organization
    this.#lastText = this.#lastPlain = ""
    this.#deadline = Math.max(query.deadline, now() + ownMs)
    return this.#reading(() =>
      query.narrowsKeys ? this.#inOneSnapshot(() => this.#run(query, this.#hasMulti(query))) : this.#run(query, false),
    )
  }

  #reading(read: () => string[] | number): string[] | number | WireError {
    try {
      return read()
    } catch (error) {
      // SQLite's error may differ, so the clock decides about a timeout.
      if (error instanceof DeadlinePassed || now() > this.#deadline) return late()
      if (isDamage(error)) {
        const told = `The data file ${this.#file} is damaged: ${error instanceof Error ? error.message : String(error)}.`
        return { code: "unavailable", message: told, details: { reason: "storage_corrupt" } }
      }
      const message = `Storage could not be read: ${error instanceof Error ? error.message : String(error)}`
      return { code: "unavailable", message, details: { reason: "read_failed" } }
    }
  }

  #run(query: WireQuery, multi: boolean): string[] | number {
    const shape = this.#shapeOf(query.table)
    const { sql, binds } = statementOf(query, shape, multi)
    this.#matches = query.filter && (multi || !query.exact) ? matcher(query.filter) : undefined
    if (query.count) return Number(this.#prepared(sql).get(...binds)?.["n"])
    const rows = this.#preparedForRows(sql).all(...binds) as unknown as readonly KeyCell[][]
    return rows.map((row) => wholeText(shape, this.#organization, row))
  }

  #lookUp({ lookUp: table, organization, id }: WireLookUp): string[] {
    const shape = this.#shapeOf(table)
    const sql = `SELECT ${documentColumns(shape)} FROM ${table} WHERE org=${organizationSql} AND id=?`
    const found = this.#preparedForRows(sql).get(organization, idKey(id)) as unknown as readonly KeyCell[] | undefined
    return found ? [wholeText(shape, organization, found)] : []
  }

  #shapeOf(table: string): Shape {
    const shape = this.#shapes.get(table)
    if (!shape) throw new Error(`The table ${table} is not open`)
    return shape
  }

  #organizationsIn(table: string): string[] {
    const sql = `SELECT id FROM _organizations WHERE EXISTS (SELECT 1 FROM ${table} WHERE org=_organizations.n)`
    return this.#prepared(sql)
      .all()
      .map((row) => JSON.stringify(row["id"]))
  }

  #hasMulti({ table, organization }: WireQuery): boolean {
    const sql = `SELECT 1 FROM ${table} WHERE org=${organizationSql} AND multi IS NOT NULL LIMIT 1`
    return this.#prepared(sql).get(organization) !== undefined
  }

  #inOneSnapshot<T>(read: () => T): T {
    this.#prepared("BEGIN").run()
    try {
      return read()
    } finally {
      this.#prepared("COMMIT").run()
    }
  }

  #prepared(sql: string): StatementSync {
    const known = this.#statements.get(sql)
    if (known) return known
    if (this.#statements.size >= maxStatements) this.#statements.clear()
    const statement = this.#database.prepare(sql)
    this.#statements.set(sql, statement)
    return statement
  }

  /** Returns a statement with rows as lists of cells. */
  #preparedForRows(sql: string): StatementSync {
    const statement = this.#prepared(sql)
    statement.setReturnArrays(true)
    return statement
  }
}

serve((data: ReaderData) => new Reader(data))

/** Returns how many texts fit into the room, at least a single text if there are any. */
function fitting(texts: readonly string[], room: number): number {
  let characters = 0
  const first = texts.findIndex(({ length }, at) => {
    characters += length
    return characters > room && at > 0
  })
  return first < 0 ? texts.length : first
}

function now(): number {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1_000 + nanoseconds / 1e6
}

function late(): WireError {
  const message = "The read timed out. Narrow the filter, sort by an indexed field or read less."
  return { code: "deadline_exceeded", message, details: { reason: "read_timeout" } }
}
