// Writes of a collection inside the writer thread, with prepared statements. A write returns true if it created a document. A
// refused write throws an AppError. Any other error, such as a full disk, is SQLite's own error.
import type { DatabaseSync, StatementSync } from "node:sqlite"
import type { CollectionSpec } from "../../contract/collection.ts"
import type { NewestWinsWrite } from "../../contract/store.ts"
import { AppError } from "../../kernel/errors.ts"
import { applyMerge, applyUpdate, type Stored } from "../apply.ts"
import { matcher } from "../match.ts"
import { unreadableDocument } from "./damage.ts"
import { idKey } from "./id-key.ts"
import { columnsOf, type KeyCell, keyReader, quoted, type ReadKeys } from "./keys.ts"
import type { Organization } from "./organizations.ts"
import { phrasesOf, shortener } from "./phrases.ts"
import { idViolation, indexesOf, rowColumns, tableOf } from "./schema.ts"
import { documentColumns, type Shape, shapeOf, storedText, wholeText } from "./shape.ts"
import type { WireChange } from "./wire.ts"

const uniqueViolations = new Set([2067, 1555])

/** Bound cells of a row: organization, id, multi, the keys, the document's text. */
type RowCells = KeyCell[]
/** Cells of an existing row: the columns of `documentColumns`, then the row's number. */
type FoundCells = readonly KeyCell[]

/**
 * The tables of all collections in order. A table is prepared on its first write, because most tables have no writes for a long
 * time.
 */
export class Tables {
  readonly #database: DatabaseSync
  readonly #collections: readonly CollectionSpec[]
  readonly #made: Table[] = []

  constructor(database: DatabaseSync, collections: readonly CollectionSpec[]) {
    this.#database = database
    this.#collections = collections
  }

  at(index: number): Table {
    const made = this.#made[index]
    if (made) return made
    const spec = this.#collections[index]
    if (!spec) throw new Error("A write names a table that is not open.")
    const table = new Table(this.#database, spec)
    this.#made[index] = table
    return table
  }
}

export class Table {
  /** Number of cells in a row. */
  readonly width: number
  readonly #spec: CollectionSpec
  readonly #readKeys: ReadKeys
  readonly #shape: Shape
  readonly #shorten: (text: string) => string
  /** Positions in a row of the cells that the document's text omits. */
  readonly #places: readonly number[]
  readonly #violations = new Map<string, readonly string[]>()
  readonly #insert: StatementSync
  readonly #keep: StatementSync
  readonly #select: StatementSync
  readonly #update: StatementSync
  readonly #updateData: StatementSync
  readonly #remove: StatementSync

  constructor(database: DatabaseSync, spec: CollectionSpec) {
    const table = tableOf(spec)
    const columns = rowColumns(spec)
    const keys = columnsOf(spec)
    this.width = columns.length
    this.#spec = spec
    this.#readKeys = keyReader(keys)
    const phrases = phrasesOf(database, spec.name)
    this.#shorten = shortener(spec, phrases)
    this.#shape = shapeOf(spec, phrases)
    this.#places = ["data", "id", ...this.#shape.fields.map(({ column }) => column)].map((column) => columns.indexOf(column))
    this.#violations.set(idViolation(spec), ["id"])
    for (const { violation, paths } of indexesOf(spec)) if (violation !== undefined) this.#violations.set(violation, paths)
    const insert = `INSERT INTO ${table}(${columns.join(",")}) VALUES(${columns.map(() => "?").join(",")})`
    this.#insert = database.prepare(insert)
    this.#keep = database.prepare(`${insert} ON CONFLICT(org,id) DO NOTHING`)
    this.#select = database.prepare(`SELECT ${documentColumns(this.#shape)},n FROM ${table} WHERE org=? AND id=?`)
    this.#select.setReturnArrays(true)
    this.#update = database.prepare(
      `UPDATE ${table} SET ${["multi", ...keys.map(quoted), "data"].map((name) => `${name}=?`).join(",")} WHERE n=?`,
    )
    this.#updateData = database.prepare(`UPDATE ${table} SET data=? WHERE n=?`)
    this.#remove = database.prepare(`DELETE FROM ${table} WHERE n=?`)
  }

  insert(row: RowCells): boolean {
    this.#unique(this.#insert, this.#shortened(row))
    return true
  }

  keep(row: RowCells): boolean {
    return this.#unique(this.#keep, this.#shortened(row))
  }

  /** `row` is the row to insert if there is no row yet. */
  merge(organization: Organization, key: string | Uint8Array, row: RowCells): boolean {
    // With further unique indexes, a repeated insert could fail on another index. Reads the existing row first in this case.
    const stored = this.#violations.size > 1 ? this.#find(organization, key) : undefined
    if (!stored && this.keep(row)) return true
    const found = stored ?? this.#find(organization, key)
    if (!found) throw new Error("A row that could not be written for its id is not there.")
    const document = this.#parsed(found, organization)
    const given = this.#places.map((place) => row[place] ?? null)
    const doc = JSON.parse(wholeText(this.#shape, organization.id, given)) as NewestWinsWrite["doc"] & { position: string }
    this.#change(found, document, organization, () =>
      applyMerge(document, { kind: "newest_wins", collection: this.#spec, doc, position: doc.position }),
    )
    return false
  }

  update(organization: Organization, id: string, change: WireChange): boolean {
    const row = this.#find(organization, idKey(id))
    if (!row) {
      if (change.upsert) return this.#make(organization, id, change)
      if (change.optional) return false
      throw this.#missing(id)
    }
    const document = this.#parsed(row, organization)
    if (!this.#meets(id, document, change)) return false
    this.#change(row, document, organization, () => applyUpdate(document, change.update ?? {}, false))
    return false
  }

  remove(organization: Organization, id: string, change: WireChange): boolean {
    const row = this.#find(organization, idKey(id))
    if (!row) {
      if (change.optional) return false
      throw this.#missing(id)
    }
    if (change.where && !this.#meets(id, this.#parsed(row, organization), change)) return false
    this.#remove.run(row.at(-1) as number)
    return false
  }

  #make(organization: Organization, id: string, change: WireChange): boolean {
    const document: Stored = { id }
    if (this.#shape.scoped) document["organization_id"] = organization.id
    applyUpdate(document, change.update ?? {}, true)
    return this.insert([organization.n, idKey(id), ...this.#keysOf(document), storedText(this.#shape, document, organization.id)])
  }

  #shortened(row: RowCells): RowCells {
    return row.with(-1, this.#shorten(row.at(-1) as string))
  }

  #find(organization: Organization, key: string | Uint8Array): FoundCells | undefined {
    return this.#select.get(organization.n, key) as unknown as FoundCells | undefined
  }

  /** Stores a document changed by `apply`. Indexes are updated only if a key changed. */
  #change(found: FoundCells, document: Stored, organization: Organization, apply: () => unknown): void {
    const before = this.#keysOf(document)
    apply()
    const after = this.#keysOf(document)
    const data = this.#shorten(storedText(this.#shape, document, organization.id))
    const row = found.at(-1) as number
    if (before.every((key, at) => key === after[at])) this.#updateData.run(data, row)
    else this.#unique(this.#update, [...after, data, row])
  }

  /** Throws `data_loss` for text that is not JSON. Only this commit fails. */
  #parsed(found: FoundCells, organization: Organization): Stored {
    try {
      return JSON.parse(wholeText(this.#shape, organization.id, found)) as Stored
    } catch {
      throw unreadableDocument(this.#spec.name)
    }
  }

  #keysOf(document: Stored): KeyCell[] {
    const keys: KeyCell[] = []
    this.#readKeys(document, keys)
    return keys
  }

  /** Returns true if the condition holds. Throws if a required condition fails. */
  #meets(id: string, document: Stored, { where, optional }: WireChange): boolean {
    if (!where || matcher(where)(document)) return true
    if (optional) return false
    const byRevision = Object.hasOwn(where, "revision")
    const about = { collection: this.#spec.name, id }
    const details = byRevision
      ? { ...about, reason: "revision_mismatch" as const, current_revision: document["revision"] ?? null }
      : { ...about, reason: "condition_not_met" as const }
    const now = byRevision ? `, which is at revision ${String(document["revision"])} now` : ""
    throw new AppError(
      "aborted",
      `${this.#spec.name}: document ${id}${now}, no longer matches the condition of the write. Read it again and retry.`,
      details,
    )
  }

  #missing(id: string): AppError {
    return new AppError("not_found", `${this.#spec.name}: document ${id} does not exist.`, {
      reason: "document_not_found",
      collection: this.#spec.name,
      id,
    })
  }

  /** Returns true if a row changed. Throws `already_exists` for a duplicate unique key. */
  #unique(statement: StatementSync, cells: readonly KeyCell[]): boolean {
    try {
      return statement.run(...cells).changes === 1
    } catch (error) {
      const { errcode, message } = error as { errcode?: number; message: string }
      if (errcode === undefined || !uniqueViolations.has(errcode)) throw error
      const paths = this.#violations.get(message) ?? ["id"]
      throw new AppError("already_exists", `${this.#spec.name}: another document has the same ${paths.join(" and ")}.`, {
        reason: "duplicate_value",
        collection: this.#spec.name,
        fields: paths.map((path) => ({ path, message: "is taken" })),
      })
    }
  }
}
