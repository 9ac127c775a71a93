// The connection, with options for durability and elections. Refuses servers without transactions.
import { setTimeout as pause } from "node:timers/promises"
import { type Db, MongoClient, type MongoClientOptions } from "mongodb"
import { AppError } from "../../kernel/errors.ts"
import { isLost } from "./trouble.ts"

/** MongoDB 5.0. Older servers cannot store field names with dots and dollars. */
const oldestWireVersion = 13
const initiate = `mongosh --eval 'rs.initiate()'`

const againMs = 200

/** Identifies the connections of all nodes on the server. */
export const appName = "millrace"

export interface Connection {
  readonly client: MongoClient
  readonly db: Db
}

/** Creates a client without a connection. Throws `invalid_argument` for an invalid URL. */
export function clientFor(url: string): Connection {
  const options: MongoClientOptions = {
    appName,
    readPreference: "primary",
    readConcern: { level: "majority" },
    writeConcern: { w: "majority", journal: true },
    retryReads: true,
    retryWrites: true,
    ignoreUndefined: true,
    // Short, because reads and commits retry until their own deadline.
    serverSelectionTimeoutMS: 1_000,
    connectTimeoutMS: 5_000,
    socketTimeoutMS: 30_000,
    heartbeatFrequencyMS: 2_000,
    minHeartbeatFrequencyMS: 250,
    maxPoolSize: 64,
    // The library looks up field names in this object. Without a null prototype, a list with the name of an Object method
    // ("constructor") would be returned as raw bytes.
    fieldsAsRaw: Object.create(null) as Record<string, boolean>,
  }
  try {
    const client = new MongoClient(url, options)
    return { client, db: client.db(databaseIn(url)) }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new AppError("invalid_argument", `storage.url is not a MongoDB URL (${reason}). It looks like mongodb://HOST:PORT/DATABASE.`, {
      reason: "invalid_option",
      fields: [{ path: "storage.url", message: reason }],
    })
  }
}

/** Returns `millrace` if the URL has no database. */
function databaseIn(url: string): string {
  const name = /^mongodb(?:\+srv)?:\/\/[^/]+\/([^?]+)/.exec(url)?.[1]
  return name ? decodeURIComponent(name) : "millrace"
}

export interface OpenOptions {
  /** Maximum milliseconds to wait for a primary. */
  readonly withinMs: number
  /** Called once if there is no primary at first. */
  readonly onWait: (why: string) => void
}

/**
 * Connects and checks the server. Waits for the end of an election. Throws `failed_precondition` with the remedy, or
 * `unavailable`.
 */
export async function open(connection: Connection, url: string, { withinMs, onWait }: OpenOptions): Promise<void> {
  const until = performance.now() + withinMs
  for (let told = false; ; ) {
    try {
      await connection.client.connect()
      check(await connection.client.db("admin").command({ hello: 1 }), url)
      return
    } catch (error) {
      if (!isLost(error)) throw error
      await explain(url)
      const why = `No primary of ${hostsOf(url)} responds (${(error as Error).message}).`
      if (performance.now() >= until)
        throw new AppError("unavailable", `${why} Is mongod running there?`, { reason: "storage_unavailable" })
      if (!told) onWait(why)
      told = true
      await pause(againMs)
    }
  }
}

function check(hello: Record<string, unknown>, url: string): void {
  const isReplicaSet = typeof hello["setName"] === "string" || hello["msg"] === "isdbgrid"
  if (!isReplicaSet) throw standalone(url, hello["isreplicaset"] === true)
  if (Number(hello["maxWireVersion"]) < oldestWireVersion) {
    throw new AppError("failed_precondition", `MongoDB at ${hostsOf(url)} is older than 5.0; use 6.0 or later.`, {
      reason: "unsupported_server",
    })
  }
}

function standalone(url: string, waits: boolean): AppError {
  const remedy = waits
    ? `It was started with --replSet but never initiated. Run once: ${initiate}`
    : `Make it a one-member set: start it with mongod --replSet rs0 (or replication.replSetName: rs0 in mongod.conf), then run once: ${initiate}`
  return new AppError(
    "failed_precondition",
    `MongoDB at ${hostsOf(url)} is not a replica set, so it cannot commit transactions. ${remedy}`,
    {
      reason: "unsupported_server",
    },
  )
}

/** The driver does not find a server outside a working set. A direct request returns the reason. */
async function explain(url: string): Promise<void> {
  if (/[?&]directConnection=/.test(url) || url.startsWith("mongodb+srv:")) return
  const first = url.replace(/^(mongodb:\/\/(?:[^@/]*@)?[^,/?]+)[^/?]*/, "$1").replace(/([?&])replicaSet=[^&]*&?/, "$1")
  const client = new MongoClient(first, { directConnection: true, serverSelectionTimeoutMS: 1_000 })
  try {
    check(await client.db("admin").command({ hello: 1 }), url)
  } catch (error) {
    if (error instanceof AppError) throw error
  } finally {
    await client.close()
  }
}

/** Returns the hosts only, because a URL may contain a password. */
export function hostsOf(url: string): string {
  return url
    .replace(/^mongodb(?:\+srv)?:\/\//, "")
    .replace(/^[^/]*@/, "")
    .replace(/[/?].*$/, "")
}
