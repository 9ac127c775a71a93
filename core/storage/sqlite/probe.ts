// Answers whether a commit could be made now, by making one. A commit of one page may find room where a group does not:
// on a disk that is just full some fit and most do not. So once a group was refused, what is written is as large as
// groups are, until that has gone through.
import type { DatabaseSync, StatementSync } from "node:sqlite"

const minBytes = 1 << 20
const maxOwedBytes = 8 << 20
/** A group counts as at least this many. */
const groupBytes = 128 << 10

export class Probe {
  readonly #small: StatementSync
  readonly #large: StatementSync
  readonly #takeBack: StatementSync
  /** Whether a group was refused since the last probe that found room. */
  #isFull = false
  /** Bytes of the largest group refused since then. */
  #largest = 0
  /** Bytes of groups refused, less those of groups written. A disk that refused many groups must have room for as many. */
  #owed = 0

  constructor(database: DatabaseSync) {
    this.#small = database.prepare("INSERT INTO _probe(n,at) VALUES(1,1) ON CONFLICT(n) DO UPDATE SET at=at+1")
    this.#large = database.prepare("INSERT INTO _probe(n,at) VALUES(2,zeroblob(?)) ON CONFLICT(n) DO UPDATE SET at=excluded.at")
    this.#takeBack = database.prepare("DELETE FROM _probe WHERE n=2")
  }

  /** To be told of each group that could not be written. */
  refused(bytes: number): void {
    this.#isFull = true
    this.#largest = Math.max(this.#largest, bytes)
    this.#owed = Math.min(maxOwedBytes, this.#owed + Math.max(bytes, groupBytes))
  }

  /** To be told of each group that was written. */
  wrote(bytes: number): void {
    if (this.#owed > 0) this.#owed = Math.max(0, this.#owed - Math.max(bytes, groupBytes))
  }

  /** Throws what refused it. */
  write(): void {
    if (this.#isFull) {
      // The pages of its indexes come on top.
      this.#large.run(Math.max(minBytes, this.#owed, 2 * this.#largest))
      this.#takeBack.run()
      this.#isFull = false
      this.#largest = 0
    }
    this.#small.run()
  }
}
