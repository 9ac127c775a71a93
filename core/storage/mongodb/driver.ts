// The MongoDB storage driver: any number of nodes on one replica set. A group of commits is one multi-document
// transaction on a majority's disks; `_id` holds the organization, declared times are dates.

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
  /** mongodb:// or mongodb+srv://; the database is `millrace` where the path names none. */
  readonly url: string
  readonly clock: Clock
  readonly log: Logger
  /** Milliseconds for which a start waits for a primary; an election takes some of it. Default 30,000. */
  readonly startWithinMs?: number
  /** Milliseconds for which a commit is retried through lost connections and elections. Default 20,000. */
  readonly commitWithinMs?: number
  /** Milliseconds for which it is then asked whether it went through, where that is not known. Default 40,000. */
  readonly uncertainMs?: number
  /** Groups in progress at once. Default 3: with groups of 128 it measured best of 2, 3 and 4 (10.9 thousand events a second). */
  readonly groupsInFlight?: number
  /** For jitter, from 0 to 1. */
  readonly random?: () => number
  readonly onAttempt?: GroupOptions["onAttempt"]
}

export interface MongoDriver extends StorageDriver {
  readonly db: Db
  /** What the nodes of a cluster learn of each other's changes by. */
  readonly feed: CommitFeed
}

/** Bytes of one transaction: large commits go in smaller groups. */
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

  /** Once a group could not be written, the primary's word is not enough: a majority must have taken a write. */
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

// Sockets that close while a command is being written. The driver (7.9) waits for "drain" when a socket does not accept a
// command as a whole; a closed socket never drains, so that the command, and all that waits for it, would hang. So a
// socket that closes emits "drain", and the driver then finds its connection closed.

/** Of every socket, TLS or not, that this process opens to somebody. */
const channel = "net.client.socket"

/** For the client's connections from now on; to be called before it connects. Returns what ends it. */
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
 * Carries live messages between nodes: socket.io's own adapter, on a collection of this database that forgets after a
 * minute. What must not be lost is kept with its commit; here is only the quick way to the other nodes' sockets, so a
 * write waits for no majority.
 */
export type LiveAdapter = ReturnType<typeof createAdapter>

/** To be called once storage has started. */
export function liveAdapter(db: Db, log: Logger): LiveAdapter {
  const collection = db.collection("live_between_nodes", { writeConcern: { w: 1, journal: false } })
  collection.createIndex({ createdAt: 1 }, { expireAfterSeconds: 60, background: true }).catch((error: unknown) => {
    log.warn({ err: error }, "the collection that carries live messages between nodes has no expiry yet")
  })
  return createAdapter(collection, { addCreatedAtField: true })
}
