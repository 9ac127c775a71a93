// Commits groups inside the writer thread, with a transaction and a flush per group. The first try uses no savepoints, because
// savepoints copy every page. If a commit fails after a change, the group is rolled back and written again with a savepoint per
// commit.
// Successful commits are remembered in memory and as a row per group in the file. A commit repeated by a caller, or after a crash
// of this thread, returns its first outcome without a change.
import type { DatabaseSync, StatementSync } from "node:sqlite"
import { AppError } from "../../kernel/errors.ts"
import { idKey } from "./id-key.ts"
import type { KeyCell } from "./keys.ts"
import type { Organization, Organizations } from "./organizations.ts"
import type { Table, Tables } from "./table.ts"
import { type CommitCells, type WireChange, type WireOutcome, writeKinds } from "./wire.ts"

/** Minimum number of remembered commits. */
const remembered = 16_384

class NeedsSavepoints extends Error {}

export class Groups {
  readonly #database: DatabaseSync
  readonly #tables: Tables
  readonly #organizations: Organizations
  readonly #done = new Map<string, string>()
  readonly #groups: { n: number; ids: string[] }[] = []
  readonly #begin: StatementSync
  readonly #commit: StatementSync
  readonly #remember: StatementSync
  readonly #forget: StatementSync
  /** Id and key of the last write. An event's entry and its payload have the same id. */
  #id = ""
  #key: string | Uint8Array = ""
  #last = 0
  #forgotten = 0

  constructor(database: DatabaseSync, tables: Tables, organizations: Organizations) {
    this.#database = database
    this.#tables = tables
    this.#organizations = organizations
    this.#begin = database.prepare("BEGIN IMMEDIATE")
    this.#commit = database.prepare("COMMIT")
    this.#remember = database.prepare("INSERT INTO _groups(n,results) VALUES(?,?)")
    this.#forget = database.prepare("DELETE FROM _groups WHERE n<=?")
    for (const row of database.prepare("SELECT n,results FROM _groups ORDER BY n").iterate()) {
      const list = JSON.parse(String(row["results"])) as string[]
      for (let index = 0; index < list.length; index += 2) this.#done.set(list[index] as string, list[index + 1] as string)
      this.#keep(Number(row["n"]), list)
    }
  }

  /** Number of the last group in the file. */
  get last(): number {
    return this.#last
  }

  /** Returns an outcome per commit. Throws SQLite's error, without a change, if the whole group failed. */
  write(commits: readonly CommitCells[]): WireOutcome[] {
    try {
      return this.#try(commits, false)
    } catch (error) {
      if (!(error instanceof NeedsSavepoints)) throw error
      return this.#try(commits, true)
    }
  }

  #try(commits: readonly CommitCells[], savepoints: boolean): WireOutcome[] {
    const made: string[] = []
    const outcomes: WireOutcome[] = []
    this.#begin.run()
    try {
      for (const cells of commits) {
        // Copies the id, because it is a slice of the whole group's text.
        const id = ` ${cells[0] as string}`.slice(1)
        const earlier = this.#done.get(id)
        const outcome = earlier ?? this.#one(cells, savepoints)
        if (earlier === undefined && typeof outcome === "string") {
          this.#done.set(id, outcome)
          made.push(id, outcome)
        }
        outcomes.push(outcome)
      }
      if (made.length > 0) this.#remember.run(this.#last + 1, JSON.stringify(made))
      this.#commit.run()
    } catch (error) {
      for (let index = 0; index < made.length; index += 2) this.#done.delete(made[index] as string)
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK")
      this.#organizations.forget()
      throw error
    }
    if (made.length > 0) this.#keep(this.#last + 1, made)
    return outcomes
  }

  #one(cells: CommitCells, savepoint: boolean): WireOutcome {
    if (savepoint) this.#database.exec("SAVEPOINT one")
    const progress = { created: "" }
    try {
      this.#apply(cells, progress)
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      // A refused first write has no changes to roll back.
      if (!savepoint && progress.created !== "") throw new NeedsSavepoints()
      if (savepoint) this.#database.exec("ROLLBACK TO one; RELEASE one")
      if (savepoint) this.#organizations.forget()
      return { code: error.code, message: error.message, details: error.details }
    }
    if (savepoint) this.#database.exec("RELEASE one")
    return progress.created
  }

  #apply(cells: CommitCells, progress: { created: string }): void {
    const first = 2 + (cells[1] as number)
    const organizations: Organization[] = []
    for (let at = 2; at < first; at++) organizations.push({ id: cells[at] as string, n: this.#organizations.numberOf(cells[at] as string) })
    for (let at = first; at < cells.length; ) {
      const table = this.#tables.at(cells[at + 1] as number)
      const organization = organizations[cells[at + 2] as number] as Organization
      const brings = cells[at] !== writeKinds.update && cells[at] !== writeKinds.remove
      // Kind, table and organization, followed by the remaining bound cells, or by id and change.
      const end = at + (brings ? 2 + table.width : 5)
      const created = brings ? this.#document(table, organization, cells, at, end) : change(table, organization, cells, at)
      progress.created += created ? "1" : "0"
      at = end
    }
  }

  #document(table: Table, organization: Organization, cells: CommitCells, at: number, end: number): boolean {
    const id = cells[at + 3] as string
    if (id !== this.#id) {
      this.#id = id
      this.#key = idKey(id)
    }
    const row: KeyCell[] = [organization.n, this.#key]
    for (let cell = at + 4; cell < end; cell++) row.push(cells[cell] as KeyCell)
    if (cells[at] === writeKinds.insert) return table.insert(row)
    return cells[at] === writeKinds.keep ? table.keep(row) : table.merge(organization, this.#key, row)
  }

  #keep(n: number, made: readonly string[]): void {
    const ids = made.filter((_, index) => index % 2 === 0)
    this.#groups.push({ n, ids })
    this.#last = n
    this.#prune()
  }

  #prune(): void {
    // Prunes in large steps, to rarely shift the list and rarely write to the file.
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
      // Remaining rows are read again at the next start, and deleted later.
    }
  }
}

/** Returns the number of the last group in the file, or 0 without groups. */
export function lastGroup(database: DatabaseSync): number {
  if (!database.prepare("SELECT 1 FROM sqlite_master WHERE name='_groups'").get()) return 0
  return Number(database.prepare("SELECT max(n) AS n FROM _groups").get()?.["n"] ?? 0)
}

function change(table: Table, organization: Organization, cells: CommitCells, at: number): boolean {
  const id = cells[at + 3] as string
  const wanted = JSON.parse(cells[at + 4] as string) as WireChange
  return cells[at] === writeKinds.update ? table.update(organization, id, wanted) : table.remove(organization, id, wanted)
}
