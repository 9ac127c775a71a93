// Answers whether a commit could be made now, by making one. A commit of one page may find room where a group does not:
// on a disk that is just full some fit and most do not. So once a group was refused, what is written is as large as
// groups are, until that has gone through.
import type { DatabaseSync, StatementSync } from "node:sqlite"

const minBytes = 1 << 20

export class Probe {
  readonly #small: StatementSync
  readonly #large: StatementSync
  readonly #takeBack: StatementSync
  /** What must fit before it is said again that a commit could be made; 0 while none was refused. */
  #bytes = 0

  constructor(database: DatabaseSync) {
    this.#small = database.prepare("INSERT INTO _probe(n,at) VALUES(1,1) ON CONFLICT(n) DO UPDATE SET at=at+1")
    this.#large = database.prepare("INSERT INTO _probe(n,at) VALUES(2,zeroblob(?)) ON CONFLICT(n) DO UPDATE SET at=excluded.at")
    this.#takeBack = database.prepare("DELETE FROM _probe WHERE n=2")
  }

  /** To be told of each group that could not be written. */
  refused(bytes: number): void {
    // Its pages of indexes come on top.
    this.#bytes = Math.max(this.#bytes, minBytes, 2 * bytes)
  }

  /** Throws what refused it. */
  write(): void {
    if (this.#bytes > 0) {
      this.#large.run(this.#bytes)
      this.#takeBack.run()
      this.#bytes = 0
    }
    this.#small.run()
  }
}
