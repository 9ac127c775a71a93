// Checks by a write that a commit is possible now. On a nearly full disk a small commit may fit while most groups do not. After a
// refused group, the probe is therefore as large as groups, until it succeeds.
import type { DatabaseSync, StatementSync } from "node:sqlite"

const minBytes = 1 << 20
const maxOwedBytes = 8 << 20
/** Minimum bytes of a group in the calculation. */
const groupBytes = 128 << 10

export class Probe {
  readonly #small: StatementSync
  readonly #large: StatementSync
  readonly #takeBack: StatementSync
  /** True if a group was refused since the last successful probe. */
  #isFull = false
  /** Bytes of the largest refused group since then. */
  #largest = 0
  /** Bytes of refused groups minus bytes of written groups. After many refused groups, a disk must have room for as many. */
  #owed = 0

  constructor(database: DatabaseSync) {
    this.#small = database.prepare("INSERT INTO _probe(n,at) VALUES(1,1) ON CONFLICT(n) DO UPDATE SET at=at+1")
    this.#large = database.prepare("INSERT INTO _probe(n,at) VALUES(2,zeroblob(?)) ON CONFLICT(n) DO UPDATE SET at=excluded.at")
    this.#takeBack = database.prepare("DELETE FROM _probe WHERE n=2")
  }

  /** Call this for each refused group. */
  refused(bytes: number): void {
    this.#isFull = true
    this.#largest = Math.max(this.#largest, bytes)
    this.#owed = Math.min(maxOwedBytes, this.#owed + Math.max(bytes, groupBytes))
  }

  /** Call this for each written group. */
  wrote(bytes: number): void {
    if (this.#owed > 0) this.#owed = Math.max(0, this.#owed - Math.max(bytes, groupBytes))
  }

  /** Throws the reason for a refusal. */
  write(): void {
    if (this.#isFull) {
      // Doubled, because the index pages of a group need additional space.
      this.#large.run(Math.max(minBytes, this.#owed, 2 * this.#largest))
      this.#takeBack.run()
      this.#isFull = false
      this.#largest = 0
    }
    this.#small.run()
  }
}
