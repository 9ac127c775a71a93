// What this node has seen of the set's time. Right after an election the new primary has all that a majority has, but
// does not know yet that a majority has it, and a majority read gives what it last knew. So a read says what was seen:
// the primary waits until it knows as much.
import type { ClientSession, MongoClient, Timestamp } from "mongodb"

export class Seen {
  readonly #client: MongoClient
  #latest: Timestamp | undefined

  constructor(client: MongoClient) {
    this.#client = client
  }

  /** A session for a commit or a read; the read's answer is not older than what was seen. To be ended. */
  session(use: "commit" | "read"): ClientSession {
    const session = this.#client.startSession({ causalConsistency: true })
    if (use === "read" && this.#latest) session.advanceOperationTime(this.#latest)
    return session
  }

  /** To be called once a majority has what the session did. */
  note({ operationTime }: ClientSession): void {
    if (operationTime && (!this.#latest || operationTime.greaterThan(this.#latest))) this.#latest = operationTime
  }
}
