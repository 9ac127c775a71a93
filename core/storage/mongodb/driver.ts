// The MongoDB storage driver, for any number of nodes on a replica set. A group of commits is a multi-document transaction on the
// disks of a majority. `_id` contains the organization, and declared times are dates.

import { subscribe, unsubscribe } from "node:diagnostics_channel"
import type { Socket } from "node:net"
import { createAdapter } from "@socket.io/mongo-adapter"
import type { Db, MongoClient } from "mongodb"
import type { CommitFeed } from "../../contract/cluster.ts"
import type { CollectionSpec } from "../../contract/collection.ts"
import type { Commit } from "../../contract/store.ts"
import type { Clock } from "../../kernel/clock.ts"
import { type AppError, asAppError } from "../../kernel/errors.ts"
import type { Logger } from "../../kernel/log.ts"
import type { StorageDriver } from "../driver.ts"
import { Abandoned } from "./abandoned.ts"
import { Seen } from "./attempt.ts"
import { type Connection, clientFor, hostsOf, open } from "./connect.ts"
import { commitFeed } from "./feed.ts"
import { type CommitOutcome, type GroupOptions, GroupRun } from "./group.ts"
import { layOut } from "./layout.ts"
import { Reading } from "./reading.ts"
import { type PreparedCommit, prepare } from "./statement.ts"
import { unavailable } from "./trouble.ts"

export interface MongoDriverOptions {
  /** mongodb:// or mongodb+srv://. The default database is `millrace`. */
  readonly url: string
  readonly clock: Clock
  readonly log: Logger
  /** Maximum milliseconds of a start's wait for a primary, including an election. Default 30,000. */
  readonly startWithinMs?: number
  /** Milliseconds of retries of a commit after lost connections and elections. Default 20,000. */
  readonly commitWithinMs?: number
  /** Additional milliseconds of requests for an unknown outcome of a commit. Default 40,000. */
  readonly uncertainMs?: number
  /** Groups in progress at once. Default 3. With groups of 128 it measured best of 2, 3 and 4 (10.9 thousand events a second). */
  readonly groupsInFlight?: number
  /** Random numbers from 0 to 1 for jitter. */
  readonly random?: () => number
  readonly onAttempt?: GroupOptions["onAttempt"]
}

export interface MongoDriver extends StorageDriver {
  readonly db: Db
  /** Feed of commits for the nodes of a cluster. */
  readonly feed: CommitFeed
}

/** Maximum bytes of a transaction. Large commits form smaller groups. */
const maxGroupBytes = 24_000_000

const probeCollection = "_probe"
const probeMs = 1_500

export function createMongoDriver(options: MongoDriverOptions): MongoDriver {
  return new Driver(options)
}

class Driver implements MongoDriver {
  readonly groupsInFlight: number
  readonly #options: MongoDriverOptions
  readonly #connection: Connection
  readonly #seen: Seen
  readonly #abandoned: Abandoned
  readonly #reading: Reading
  #letSocketsBe = () => {}
  #hasRefused = false

  constructor(options: MongoDriverOptions) {
    this.#options = options
    this.#connection = clientFor(options.url)
    this.#seen = new Seen(this.#connection.client)
    this.#abandoned = new Abandoned({ client: this.#connection.client, clock: options.clock, log: options.log })
    this.#reading = new Reading({ db: this.#connection.db, seen: this.#seen, clock: options.clock })
    this.groupsInFlight = options.groupsInFlight ?? 3
  }

  get feed(): CommitFeed {
    return commitFeed(this.db)
  }

  get db(): Db {
    return this.#connection.db
  }

  async start(collections: readonly CollectionSpec[]): Promise<void> {
    const { url, log, startWithinMs = 30_000 } = this.#options
    const onWait = (why: string) => log.warn(`${why} Waiting for one, for ${Math.round(startWithinMs / 1_000)} s at most.`)
    this.#letSocketsBe = wakeOnClose(this.#connection.client)
    try {
      await open(this.#connection, url, { withinMs: startWithinMs, onWait })
      for (const change of await layOut(this.db, collections)) log.info(change, "indexes of older declarations dropped")
    } catch (error) {
      await this.stop()
      throw error
    }
    log.debug({ hosts: hostsOf(url), database: this.db.databaseName }, "storage: MongoDB")
  }

  async stop(): Promise<void> {
    this.#reading.stop()
    await this.#connection.client.close()
    this.#letSocketsBe()
  }

  find: StorageDriver["find"] = (query) => this.#reading.find(query)

  count: StorageDriver["count"] = (query) => this.#reading.count(query)

  organizationsIn: StorageDriver["organizationsIn"] = (collection) => this.#reading.organizationsIn(collection)

  async ready(): Promise<void> {
    try {
      const hello = await this.db.command({ hello: 1 }, { readPreference: "primary", timeoutMS: 2_000 })
      if (hello["isWritablePrimary"] === true) return await this.#probe()
    } catch (error) {
      throw unavailable("MongoDB has no primary that responds.", error)
    }
    throw unavailable("MongoDB has no primary.")
  }

  /** After a failed group, the primary's status is not sufficient. A probe write must reach a majority. */
  async #probe(): Promise<void> {
    if (!this.#hasRefused) return
    const options = { upsert: true, writeConcern: { w: "majority", journal: true, wtimeoutMS: probeMs }, timeoutMS: probeMs } as const
    await this.db.collection<{ _id: string }>(probeCollection).updateOne({ _id: "probe" }, { $inc: { n: 1 } }, options)
    this.#hasRefused = false
  }

  async commitGroup(commits: readonly Commit[]): Promise<readonly CommitOutcome[]> {
    const refused = new Map<Commit, AppError>()
    const prepared = new Map<string, PreparedCommit>()
    for (const commit of commits) {
      try {
        if (!prepared.has(commit.id)) prepared.set(commit.id, prepare(commit))
      } catch (error) {
        refused.set(commit, asAppError(error))
      }
    }
    const outcomes = await this.#settle([...prepared.values()]).catch((error: unknown) => {
      this.#hasRefused = true
      throw error
    })
    return commits.map((commit) => refused.get(commit) ?? outcomes.get(commit.id) ?? lostOutcome(commit))
  }

  async #settle(commits: readonly PreparedCommit[]): Promise<ReadonlyMap<string, CommitOutcome>> {
    const { clock, random = Math.random, commitWithinMs = 20_000, uncertainMs = 40_000, onAttempt } = this.#options
    const deadline = clock.monotonic() + commitWithinMs
    const run = new GroupRun({ db: this.db, seen: this.#seen, abandoned: this.#abandoned, clock, random, deadline, uncertainMs, onAttempt })
    for (const group of bySize(commits)) await run.settle(group)
    return run.outcomes
  }
}

function bySize(commits: readonly PreparedCommit[]): PreparedCommit[][] {
  const groups: PreparedCommit[][] = []
  let size = Number.POSITIVE_INFINITY
  for (const commit of commits) {
    if (size + commit.size > maxGroupBytes) {
      groups.push([])
      size = 0
    }
    groups.at(-1)?.push(commit)
    size += commit.size
  }
  return groups
}

function lostOutcome(commit: Commit): AppError {
  return asAppError(new Error(`Commit ${commit.id} ended without a result.`))
}

// Wakes commands on closed sockets. The driver (7.9) waits for "drain" if a socket does not accept a whole command. A closed
// socket never drains, so the command and all waiting commands would hang. Therefore a closing socket emits "drain", and the
// driver detects the closed connection.

/** Channel of every client socket of this process, with or without TLS. */
const channel = "net.client.socket"

/** Watches the client's future connections. Call this before the client connects. Returns a function that ends it. */
function wakeOnClose(client: MongoClient): () => void {
  const ports = new Set<number>()
  client.on("serverOpening", ({ address }) => void ports.add(Number(address.slice(address.lastIndexOf(":") + 1))))
  const watch = (message: unknown) => {
    const { socket } = message as { socket: Socket }
    socket.once("connect", () => {
      if (ports.has(Number(socket.remotePort))) socket.once("close", () => void socket.emit("drain"))
    })
  }
  subscribe(channel, watch)
  return () => unsubscribe(channel, watch)
}

/**
 * Carries live messages between nodes with socket.io's own adapter. Its collection expires entries after a minute. Durable
 * messages are stored with their commit. This is only the fast path to sockets of other nodes, so a write does not wait for a
 * majority.
 */
export type LiveAdapter = ReturnType<typeof createAdapter>

/** Call this after the start of storage. */
export function liveAdapter(db: Db, log: Logger): LiveAdapter {
  const collection = db.collection("live_between_nodes", { writeConcern: { w: 1, journal: false } })
  collection.createIndex({ createdAt: 1 }, { expireAfterSeconds: 60, background: true }).catch((error: unknown) => {
    log.warn({ err: error }, "the collection that carries live messages between nodes has no expiry yet")
  })
  return createAdapter(collection, { addCreatedAtField: true })
}
