// Commits groups inside the writer thread: one transaction and one flush for each. Commits are first tried without
// savepoints, which cost every page a copy; only when one fails after it has changed something is the group rolled
// back and written again with a savepoint for each commit.
// What went through is remembered (in memory, and a row a group in the file), so that a commit repeated after this
// thread died, or by a caller, is answered as before and changes nothing.
import type { DatabaseSync, StatementSync } from "node:sqlite"
import { AppError } from "../../kernel/errors.ts"
import type { Table } from "./table.ts"
import { type Cell, cellsPerWrite, type WireChange, type WireError, writeKinds } from "./wire.ts"

type Outcome = string | WireError

/** Commits remembered at least. */
const remembered = 65_536

class NeedsSavepoints extends Error {}

export class Groups {
  readonly #database: DatabaseSync
  readonly #tables: readonly Table[]
  readonly #done = new Map<string, string>()
  readonly #groups: { n: number; ids: string[] }[] = []
  readonly #begin: StatementSync
  readonly #commit: StatementSync
  readonly #remember: StatementSync
  readonly #forget: StatementSync
  #last = 0
  #forgotten = 0

  constructor(database: DatabaseSync, tables: readonly Table[]) {
    this.#database = database
    this.#tables = tables
    this.#begin = database.prepare("BEGIN IMMEDIATE")
    this.#commit = database.prepare("COMMIT")
    this.#remember = database.prepare("INSERT INTO _groups(n,results) VALUES(?,?)")
    this.#forget = database.prepare("DELETE FROM _groups WHERE n<=?")
    for (const row of database.prepare("SELECT n,results FROM _groups ORDER BY n").iterate()) {
      const list = JSON.parse(String(row["results"])) as string[]
      this.#keep(Number(row["n"]), list)
    }
  }

  /** One outcome a commit. Throws what SQLite gave when the group as a whole could not be written; then nothing was. */
  write(cells: readonly Cell[], commits: number): Outcome[] {
    try {
      return this.#try(cells, commits, false)
    } catch (error) {
      if (!(error instanceof NeedsSavepoints)) throw error
      return this.#try(cells, commits, true)
    }
  }

  #try(cells: readonly Cell[], commits: number, savepoints: boolean): Outcome[] {
    const made: string[] = []
    const within = new Map<string, string>()
    const outcomes: Outcome[] = []
    this.#begin.run()
    try {
      let at = 0
      for (let index = 0; index < commits; index++) {
        const id = cells[at] as string
        const writes = cells[at + 1] as number
        const earlier = this.#done.get(id) ?? within.get(id)
        const outcome = earlier ?? this.#one(cells, at + 2, writes, savepoints)
        if (earlier === undefined && typeof outcome === "string") {
          within.set(id, outcome)
          made.push(id, outcome)
        }
        outcomes.push(outcome)
        at += 2 + writes * cellsPerWrite
      }
      if (made.length > 0) this.#remember.run(this.#last + 1, JSON.stringify(made))
      this.#commit.run()
    } catch (error) {
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK")
      throw error
    }
    if (made.length > 0) this.#keep(this.#last + 1, made)
    return outcomes
  }

  #one(cells: readonly Cell[], start: number, writes: number, savepoint: boolean): Outcome {
    if (savepoint) this.#database.exec("SAVEPOINT one")
    let created = ""
    try {
      for (let index = 0; index < writes; index++) created += this.#write(cells, start + index * cellsPerWrite) ? "1" : "0"
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      if (savepoint) this.#database.exec("ROLLBACK TO one; RELEASE one")
      // A first write that was refused has left nothing to take back.
      else if (created !== "") throw new NeedsSavepoints()
      return { code: error.code, message: error.message, details: error.details }
    }
    if (savepoint) this.#database.exec("RELEASE one")
    return created
  }

  #write(cells: readonly Cell[], at: number): boolean {
    const table = this.#tables[cells[at + 1] as number]
    if (!table) throw new Error("A write names a table that is not open.")
    const organization = cells[at + 2] as string
    const id = cells[at + 3] as string
    const text = cells[at + 4] as string
    switch (cells[at]) {
      case writeKinds.insert:
      case writeKinds.keep:
        return table.insert(organization, id, text, cells[at + 5] as number | null, cells[at] === writeKinds.keep)
      case writeKinds.update:
        return table.update(organization, id, JSON.parse(text) as WireChange)
      case writeKinds.remove:
        return table.remove(organization, id, JSON.parse(text) as WireChange)
      default:
        return table.merge(organization, id, text, cells[at + 5] as string)
    }
  }

  #keep(n: number, made: readonly string[]): void {
    const ids: string[] = []
    for (let index = 0; index < made.length; index += 2) {
      ids.push(made[index] ?? "")
      this.#done.set(made[index] ?? "", made[index + 1] ?? "")
    }
    this.#groups.push({ n, ids })
    this.#last = n
    this.#prune()
  }

  #prune(): void {
    // By the hundred, so that the list is seldom shifted and the file seldom touched.
    if (this.#groups.length < 200 || this.#done.size < remembered * 1.25) return
    let count = 0
    while (this.#done.size > remembered && count < this.#groups.length - 1) {
      const oldest = this.#groups[count++]
      for (const id of oldest?.ids ?? []) this.#done.delete(id)
      this.#forgotten = oldest?.n ?? this.#forgotten
    }
    this.#groups.splice(0, count)
    try {
      this.#forget.run(this.#forgotten)
    } catch {
      // Rows that stay are read once more at the next start and forgotten with later ones.
    }
  }
}
