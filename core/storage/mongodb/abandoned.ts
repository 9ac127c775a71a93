// Ends open transactions of killed nodes. Their documents stay locked until the server aborts the transaction, by default after a
// minute. Every commit to these documents would wait that long. A node that meets such a lock ends idle transactions with its
// application name. A node that was only slow has its transaction refused and retries.
import type { MongoClient } from "mongodb"
import type { Clock } from "../../kernel/clock.ts"
import type { Logger } from "../../kernel/log.ts"
import { appName } from "./connect.ts"

const inactiveMs = 1_000
const everyMs = 500

export interface AbandonedOptions {
  readonly client: MongoClient
  readonly clock: Clock
  readonly log: Logger
}

export class Abandoned {
  readonly #options: AbandonedOptions
  #lookedAt = Number.NEGATIVE_INFINITY
  #warned = false

  constructor(options: AbandonedOptions) {
    this.#options = options
  }

  /**
   * Ends current abandoned transactions, unless it checked just before. Never throws. Without the permission, the server's own
   * limit applies.
   */
  async end(): Promise<void> {
    const { client, clock, log } = this.#options
    if (clock.monotonic() - this.#lookedAt < everyMs) return
    this.#lookedAt = clock.monotonic()
    const admin = client.db("admin")
    const left = { type: "idleSession", appName, "transaction.timeInactiveMicros": { $gte: inactiveMs * 1_000 } }
    try {
      const found = await admin
        .aggregate<{ lsid: { id: unknown } }>([{ $currentOp: { idleSessions: true } }, { $match: left }, { $project: { lsid: 1 } }], {
          readConcern: { level: "local" },
          maxTimeMS: 2_000,
        })
        .toArray()
      if (found.length === 0) return
      await admin.command({ killSessions: found.map(({ lsid }) => ({ id: lsid.id })) }, { timeoutMS: 2_000 })
      log.warn({ transactions: found.length }, "aborted open transactions of a dead node that blocked others")
    } catch (error) {
      if (!this.#warned) log.warn({ err: error }, "open transactions of a dead node cannot be aborted; the server does so later")
      this.#warned = true
    }
  }
}
