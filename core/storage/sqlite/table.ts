// Writes of one collection inside the writer thread, by statements prepared once. Whether a document was made is
// returned; what refuses a write is thrown as AppError, anything else (a full disk) as SQLite gave it.
import type { DatabaseSync, StatementSync } from "node:sqlite"
import type { CollectionSpec, Document } from "../../contract/collection.ts"
import type { MergeWrite } from "../../contract/store.ts"
import { AppError } from "../../kernel/errors.ts"
import { applyMerge, applyUpdate, type Stored } from "../apply.ts"
import { matcher } from "../match.ts"
import { indexedPaths, indexesOf, multiOf, tableOf } from "./schema.ts"
import type { WireChange } from "./wire.ts"

const uniqueViolations = new Set([2067, 1555])

export class Table {
  readonly #spec: CollectionSpec
  readonly #paths: readonly (readonly string[])[]
  readonly #fieldsOf: ReadonlyMap<string, readonly string[]>
  readonly #insert: StatementSync
  readonly #keep: StatementSync
  readonly #select: StatementSync
  readonly #update: StatementSync
  readonly #remove: StatementSync

  constructor(database: DatabaseSync, spec: CollectionSpec) {
    const table = tableOf(spec)
    const insert = `INSERT INTO ${table}(org,id,data,multi) VALUES(?,?,?,?)`
    this.#spec = spec
    this.#paths = [...indexedPaths(spec)].map((path) => path.split("."))
    this.#fieldsOf = new Map(indexesOf(spec).map((index) => [index.name, index.paths]))
    this.#insert = database.prepare(insert)
    this.#keep = database.prepare(`${insert} ON CONFLICT(org,id) DO NOTHING`)
    this.#select = database.prepare(`SELECT n,data FROM ${table} WHERE org=? AND id=?`)
    this.#update = database.prepare(`UPDATE ${table} SET data=?,multi=? WHERE n=?`)
    this.#remove = database.prepare(`DELETE FROM ${table} WHERE n=?`)
  }

  insert(organization: string, id: string, data: string, multi: number | null, keep: boolean): boolean {
    const statement = keep ? this.#keep : this.#insert
    return this.#unique(() => statement.run(organization, id, data, multi).changes === 1)
  }

  update(organization: string, id: string, change: WireChange): boolean {
    const row = this.#select.get(organization, id)
    if (!row) {
      if (change.upsert) return this.#make(organization, id, change)
      if (change.optional) return false
      throw this.#missing(id)
    }
    const document = JSON.parse(String(row["data"])) as Stored
    if (!this.#meets(id, document, change)) return false
    applyUpdate(document, change.update ?? {}, false)
    this.#write(row["n"] as number, document)
    return false
  }

  remove(organization: string, id: string, change: WireChange): boolean {
    const row = this.#select.get(organization, id)
    if (!row) {
      if (change.optional) return false
      throw this.#missing(id)
    }
    if (change.where && !this.#meets(id, JSON.parse(String(row["data"])) as Stored, change)) return false
    this.#remove.run(row["n"] as number)
    return false
  }

  merge(organization: string, id: string, data: string, position: string): boolean {
    const row = this.#select.get(organization, id)
    const doc = JSON.parse(data) as MergeWrite["doc"]
    const stored = row && (JSON.parse(String(row["data"])) as Stored)
    const merged = applyMerge(stored, { kind: "merge", collection: this.#spec, doc, position })
    if (row) this.#write(row["n"] as number, merged)
    else this.insert(organization, id, JSON.stringify(merged), multiOf(this.#paths, merged), false)
    return !row
  }

  #make(organization: string, id: string, change: WireChange): boolean {
    const document: Stored = { id }
    if (organization !== "") document["organization_id"] = organization
    applyUpdate(document, change.update ?? {}, true)
    return this.insert(organization, id, JSON.stringify(document), multiOf(this.#paths, document), false)
  }

  #write(row: number, document: Stored): void {
    const data = JSON.stringify(document)
    const multi = multiOf(this.#paths, document as unknown as Document)
    this.#unique(() => this.#update.run(data, multi, row))
  }

  /** Whether the condition holds; throws where it does not and must. */
  #meets(id: string, document: Stored, { where, optional }: WireChange): boolean {
    if (!where || matcher(where)(document)) return true
    if (optional) return false
    const byRevision = Object.hasOwn(where, "revision")
    const details = byRevision
      ? { reason: "revision_mismatch", current_revision: document["revision"] ?? null }
      : { reason: "condition_not_met", collection: this.#spec.name, id }
    const now = byRevision ? `, which is at revision ${String(document["revision"])} now` : ""
    throw new AppError(
      "aborted",
      `${this.#spec.name}: document ${id}${now}, no longer matches the condition of the write. Read it again and retry.`,
      details,
    )
  }

  #missing(id: string): AppError {
    return new AppError("not_found", `${this.#spec.name}: there is no document ${id}.`, { collection: this.#spec.name, id })
  }

  #unique<T>(write: () => T): T {
    try {
      return write()
    } catch (error) {
      const { errcode, message } = error as { errcode?: number; message: string }
      if (errcode === undefined || !uniqueViolations.has(errcode)) throw error
      const index = /index '([^']+)'/.exec(message)?.[1]
      const paths = (index !== undefined && this.#fieldsOf.get(index)) || ["id"]
      throw new AppError("already_exists", `${this.#spec.name}: another document has the same ${paths.join(" and ")}.`, {
        collection: this.#spec.name,
        fields: paths.map((path) => ({ path, message: "is taken" })),
      })
    }
  }
}
