// Feed of commits to a global collection, from a change stream. Events arrive after they reach a majority, in commit order. An
// interrupted stream resumes at its position. If that position is gone, the feed fails.
import type { ChangeStream, Db, Timestamp } from "mongodb"
import type { CommitFeed, CommitFeedReader } from "../../contract/cluster.ts"
import type { CollectionSpec, Document } from "../../contract/collection.ts"
import { AppError } from "../../kernel/errors.ts"
import { unavailable } from "./trouble.ts"
import { type Bson, decode } from "./values.ts"

export function commitFeed(db: Db): CommitFeed {
  return {
    async open(collection) {
      if (collection.scope !== "global") {
        throw new AppError("invalid_argument", `${collection.name} belongs to organizations; only a global collection has a feed.`, {
          reason: "invalid_option",
        })
      }
      const { operationTime } = await db.command({ ping: 1 }, { readPreference: "primary" })
      return new StreamReader(db, collection, operationTime as Timestamp)
    },
  }
}

const patienceMs = 100

class StreamReader implements CommitFeedReader {
  readonly #collection: CollectionSpec
  readonly #stream: ChangeStream<Bson>
  #waiting: Promise<unknown> | undefined

  constructor(db: Db, collection: CollectionSpec, from: Timestamp) {
    this.#collection = collection
    const interesting = [{ $match: { operationType: { $in: ["insert", "update", "replace"] } } }]
    // Each wait is short, so `next` returns in time without events.
    this.#stream = db.collection<Bson>(collection.name).watch(interesting, { startAtOperationTime: from, maxAwaitTimeMS: patienceMs })
  }

  async next(waitMs: number): Promise<{ id: string; inserted?: Document } | undefined> {
    const end = performance.now() + waitMs - patienceMs
    do {
      const reading = this.#stream.tryNext()
      this.#waiting = reading.catch(() => undefined)
      const event = await reading.catch((error: unknown) => {
        throw unavailable(`The change stream of ${this.#collection.name} ended.`, error)
      })
      if (event?.operationType === "insert") {
        const inserted = decode(this.#collection, undefined, event.fullDocument)
        return { id: inserted.id, inserted }
      }
      if (event && "documentKey" in event) return { id: String(event.documentKey._id) }
    } while (performance.now() < end)
    return undefined
  }

  async close(): Promise<void> {
    await this.#waiting
    await this.#stream.close()
  }
}
