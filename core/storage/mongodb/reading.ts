// Reads majority data from the primary, within a deadline. Lost connections and elections are retried until the deadline. Each
// read includes all earlier commits and reads of this node.
import type { ClientSession, Db } from "mongodb"
import type { CollectionSpec, Document } from "../../contract/collection.ts"
import { type Clock, giveUpAfter, sleep } from "../../kernel/clock.ts"
import { AppError } from "../../kernel/errors.ts"
import { giveWay } from "../../kernel/main-thread.ts"
import type { DriverQuery } from "../driver.ts"
import type { Seen } from "./attempt.ts"
import { pathOf, toAfter, toFilter } from "./filter.ts"
import { isLost, isTimeout, unavailable } from "./trouble.ts"
import { type Bson, decode } from "./values.ts"

/** Documents to parse before other work may run. */
const parsedAtOnce = 16

export interface ReadingOptions {
  readonly db: Db
  readonly seen: Seen
  readonly clock: Clock
}

interface Bounds {
  readonly session: ClientSession
  readonly maxTimeMS: number
}

export class Reading {
  readonly #db: Db
  readonly #seen: Seen
  readonly #clock: Clock
  #isStopped = false

  constructor({ db, seen, clock }: ReadingOptions) {
    this.#db = db
    this.#seen = seen
    this.#clock = clock
  }

  async find(query: DriverQuery): Promise<Document[]> {
    const { collection, organization, limit } = query
    // A normal query yields to concurrent writes, and then returns their data.
    const concern = query.snapshot ? { readConcern: { level: "snapshot" as const } } : {}
    if (limit <= 0) return []
    const matching = toFilter(query, query.filter)
    const filter = query.after ? { $and: [matching, toAfter(query, query.sort, query.after)] } : matching
    const sort = query.sort.map(([path, direction]): [string, 1 | -1] => [pathOf(path), direction])
    return await this.#within(query, async (bounds) => {
      const options = { limit, batchSize: Math.min(limit, 1_000), ...concern, ...bounds }
      const cursor = this.#db.collection<Bson>(collection.name).find(filter, options).sort(sort)
      const found: Document[] = []
      for await (const first of cursor) {
        found.push(decode(collection, organization, first))
        // The driver parses a document on its read.
        while (cursor.bufferedCount() > 0) {
          await giveWay()
          for (const stored of cursor.readBufferedDocuments(parsedAtOnce)) found.push(decode(collection, organization, stored))
        }
      }
      return found
    })
  }

  /** Prevents retries of reads after the connection ends. */
  stop(): void {
    this.#isStopped = true
  }

  count(query: Omit<DriverQuery, "sort" | "after">): Promise<number> {
    if (query.limit <= 0) return Promise.resolve(0)
    const filter = toFilter(query, query.filter)
    return this.#within(query, (bounds) =>
      this.#db.collection(query.collection.name).countDocuments(filter, { limit: query.limit, ...bounds }),
    )
  }

  /** The server groups the list, so a long list arrives in batches. */
  async organizationsIn(collection: CollectionSpec): Promise<string[]> {
    const stages = [{ $sort: { organization_id: 1 } }, { $group: { _id: "$organization_id" } }]
    const found = await this.#within({ collection, deadlineMs: 60_000 }, (bounds) =>
      this.#db.collection(collection.name).aggregate<{ _id: unknown }>(stages, bounds).toArray(),
    )
    return found.map(({ _id }) => String(_id))
  }

  async #within<T>(query: Pick<DriverQuery, "deadlineMs" | "collection">, read: (bounds: Bounds) => Promise<T>): Promise<T> {
    const end = this.#clock.monotonic() + query.deadlineMs
    for (;;) {
      const left = Math.max(1, Math.ceil(end - this.#clock.monotonic()))
      try {
        return await this.#race(this.#read(read, left), left, query.collection.name)
      } catch (error) {
        if (isTimeout(error)) throw tooSlow(query.collection.name, query.deadlineMs)
        if (!isLost(error)) throw error
        if (this.#isStopped || this.#clock.monotonic() + 50 >= end) throw unavailable("MongoDB cannot be read now.", error)
        await sleep(this.#clock, 50)
      }
    }
  }

  async #read<T>(read: (bounds: Bounds) => Promise<T>, maxTimeMS: number): Promise<T> {
    const session = this.#seen.session("read")
    try {
      const found = await read({ session, maxTimeMS })
      this.#seen.note(session)
      return found
    } finally {
      await session.endSession()
    }
  }

  /** The server enforces the deadline itself. This timer covers an unreachable server. */
  async #race<T>(read: Promise<T>, left: number, collection: string): Promise<T> {
    let cancel = () => {}
    const late = new Promise<never>((_, reject) => {
      cancel = giveUpAfter(this.#clock, left + 500, () => reject(unavailable(`MongoDB timed out on a read of ${collection}.`)))
    })
    try {
      return await Promise.race([read, late])
    } finally {
      cancel()
    }
  }
}

function tooSlow(collection: string, deadlineMs: number): AppError {
  return new AppError(
    "deadline_exceeded",
    `Reading ${collection} timed out after ${deadlineMs} ms; narrow the filter or use an indexed field.`,
    {
      reason: "read_timeout",
      collection,
      deadline_ms: deadlineMs,
    },
  )
}
