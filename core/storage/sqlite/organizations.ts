// Maps organizations to small numbers for tables and indexes. Global collections have the number of the empty id. Numbers are
// assigned within the current transaction, and cached unless it is rolled back.
import type { DatabaseSync, StatementSync } from "node:sqlite"

export interface Organization {
  readonly n: number
  readonly id: string
}

/** Maximum cached numbers. Others are looked up again. */
const maxKnown = 100_000

export class Organizations {
  readonly #known = new Map<string, number>()
  readonly #find: StatementSync
  readonly #make: StatementSync

  constructor(database: DatabaseSync) {
    database.exec("CREATE TABLE IF NOT EXISTS _organizations(n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE)")
    this.#find = database.prepare("SELECT n FROM _organizations WHERE id=?")
    this.#make = database.prepare("INSERT INTO _organizations(id) VALUES(?)")
  }

  numberOf(id: string): number {
    return this.#known.get(id) ?? this.#learn(id)
  }

  /** Call this after a rollback of a transaction or a part of it. */
  forget(): void {
    this.#known.clear()
  }

  #learn(id: string): number {
    if (this.#known.size >= maxKnown) this.#known.clear()
    const row = this.#find.get(id)
    const n = Number(row ? row["n"] : this.#make.run(id).lastInsertRowid)
    // Copies the id, because it may be a slice of a whole group's text.
    this.#known.set(Buffer.from(id).toString(), n)
    return n
  }
}
