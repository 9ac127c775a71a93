// The latest operation time of the replica set that this node has seen. Right after an election the new primary holds
// every majority-committed write, but its commit point may lag, so that a majority read returns older data. A read
// therefore carries the time seen, and the primary waits until its commit point has reached it. The same is so for the
// write of another node that has refused one of this node.
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

  /** To be called once a majority has what the session did, or where it did nothing. */
  note({ operationTime }: ClientSession): void {
    if (operationTime && (!this.#latest || operationTime.greaterThan(this.#latest))) this.#latest = operationTime
  }
}
