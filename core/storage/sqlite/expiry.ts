// Removes expired documents in small steps, so a group of commits waits at most a few milliseconds.
import type { DatabaseSync, StatementSync } from "node:sqlite"
import type { CollectionSpec } from "../../contract/collection.ts"
import { columnAt, quoted } from "./keys.ts"
import { tableOf } from "./schema.ts"

const documentsPerStep = 200

export class Expiry {
  readonly #database: DatabaseSync
  readonly #statements: readonly { readonly due: StatementSync; readonly table: string }[]

  constructor(database: DatabaseSync, collections: readonly CollectionSpec[]) {
    this.#database = database
    this.#statements = collections.flatMap((spec) => {
      if (spec.expires === undefined) return []
      const at = quoted(columnAt("expires", spec.expires))
      const table = tableOf(spec)
      const due = database.prepare(`SELECT n FROM ${table} WHERE ${at}<? ORDER BY ${at} LIMIT ${documentsPerStep}`)
      return [{ due, table }]
    })
  }

  /** Runs a step. Returns true if more documents are due. */
  step(now: string): boolean {
    for (const { due, table } of this.#statements) {
      const rows = due.all(now)
      if (rows.length === 0) continue
      const remove = this.#database.prepare(`DELETE FROM ${table} WHERE n=?`)
      this.#database.exec("BEGIN IMMEDIATE")
      try {
        for (const row of rows) remove.run(row["n"] as number)
        this.#database.exec("COMMIT")
      } catch (error) {
        if (this.#database.isTransaction) this.#database.exec("ROLLBACK")
        throw error
      }
      return true
    }
    return false
  }
}
