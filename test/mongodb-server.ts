// Real MongoDB for tests: the replica set in MILLRACE_TEST_MONGODB_URL, or own sets from MONGOMS_SYSTEM_BINARY or a `mongod` on
// PATH (WiredTiger in a temporary folder). Without either, tests that need MongoDB are skipped with one warning. Never downloads
// anything.
import { execFileSync } from "node:child_process"
import { randomBytes } from "node:crypto"
import { accessSync, constants, rmSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { delimiter, join } from "node:path"
import { MongoClient } from "mongodb"
import { MongoMemoryReplSet, MongoMemoryServer } from "mongodb-memory-server-core"
import { freePort } from "./free-port.ts"
import { afterTests } from "./setup.ts"
import { untilProcess as until } from "./waiting.ts"

export interface MongoSet {
  /** Returns the URL of a new, empty database. */
  freshUrl(): string
  /** Kills the primary with SIGKILL, like a power cut; only for a set started here. Resolves when it is dead. */
  killPrimary(): Promise<void>
  /** Kills all other members. The primary steps down when it notices. */
  killSecondaries(): Promise<void>
  /** Resolves when the only live member is no longer primary. */
  steppedDown(): Promise<void>
  /** Stops members with SIGSTOP, like a hanging machine: connections stay open without answers. Call `resume` afterwards. */
  pause(who: "primary" | "secondaries" | "all"): Promise<{ resume(): void }>
  /** Restarts dead members on their ports and data. */
  startAll(): Promise<void>
  stop(): Promise<void>
}

const givenUrl = process.env["MILLRACE_TEST_MONGODB_URL"]
const binary = givenUrl ? undefined : findBinary()

/** True if tests can use a MongoDB. */
export const mongoAvailable = givenUrl !== undefined || binary !== undefined
/** True if tests can start, stop and kill members. */
export const mongoStartable = binary !== undefined

if (!mongoAvailable && process.env["MILLRACE_TEST_MONGODB"] === "required") {
  throw new Error("MILLRACE_TEST_MONGODB=required, and there is no MongoDB: give MONGOMS_SYSTEM_BINARY or MILLRACE_TEST_MONGODB_URL.")
}
if (!mongoAvailable) {
  console.warn("\n!!! NO MONGODB: its tests are SKIPPED. Set MILLRACE_TEST_MONGODB_URL or MONGOMS_SYSTEM_BINARY, or put mongod on PATH.\n")
} else if (!mongoStartable) {
  console.warn("\n!!! MILLRACE_TEST_MONGODB_URL is given: tests that stop or kill members are SKIPPED.\n")
}

/** Start timeout of a server on a busy machine, equal to that of `until`; milliseconds. */
const launchTimeout = 300_000

let shared: Promise<MongoSet> | undefined

/** Returns one set of one member for all suites of this process. Each suite uses its own database. */
export function sharedMongo(): Promise<MongoSet> {
  shared ??= givenUrl === undefined ? ownSet() : Promise.resolve(givenSet(givenUrl))
  return shared
}

/** Empty databases of the shared set with collections; the services that used them have stopped. */
const returned: string[] = []

/**
 * Returns a database without documents. It may have the collections of an earlier service, since creating them takes longer than
 * most suites.
 */
export async function lendDatabase(): Promise<string> {
  return returned.pop() ?? (await sharedMongo()).freshUrl()
}

/** Call after the last use of the database. */
export async function takeBackDatabase(url: string): Promise<void> {
  const client = await MongoClient.connect(url)
  try {
    const collections = await client.db().listCollections({}, { nameOnly: true }).toArray()
    await Promise.all(collections.map(({ name }) => client.db().collection(name).deleteMany({})))
    returned.push(url)
  } finally {
    await client.close()
  }
}

/** Returns a database until the end of the test file, for several services and processes. */
export async function lendDatabaseToFile(): Promise<string> {
  const url = await lendDatabase()
  lentToFile.push(url)
  return url
}

const lentToFile: string[] = []

afterTests(async () => {
  const urls = lentToFile.splice(0)
  if (givenUrl !== undefined) {
    returned.length = 0
    await (await shared)?.stop()
  } else if (urls.length > 0) {
    await endSessions()
    for (const url of urls) await takeBackDatabase(url)
  }
})

/** Otherwise a transaction of a killed service would lock its documents for a minute. */
async function endSessions(): Promise<void> {
  const client = await MongoClient.connect((await sharedMongo()).freshUrl())
  try {
    await client.db("admin").command({ killAllSessions: [] })
  } finally {
    await client.close()
  }
}

/** Killed at process exit: if several processes run the files, no process knows its last file. */
async function ownSet(): Promise<MongoSet> {
  const { folder, spec } = await startedSet(1)
  process.once("exit", () => {
    for (const { instanceInfo } of spec.servers) instanceInfo?.instance.mongodProcess?.kill("SIGKILL")
    rmSync(folder, { recursive: true, force: true })
  })
  return setOf(folder, spec)
}

/** Starts a separate set, for tests that break it. */
export async function startSet(members: 1 | 3): Promise<MongoSet> {
  const { folder, spec } = await startedSet(members)
  return setOf(folder, spec)
}

async function startedSet(members: number): Promise<{ folder: string; spec: MongoMemoryReplSet }> {
  const folder = await mkdtemp(join(tmpdir(), "millrace-mongodb-"))
  return { folder, spec: await replicaSet(folder, members) }
}

function setOf(folder: string, spec: MongoMemoryReplSet): MongoSet {
  return {
    freshUrl: () => withFreshDatabase(spec.getUri()),
    killPrimary: () => kill(spec, "primary"),
    killSecondaries: () => kill(spec, "secondaries"),
    steppedDown: () => steppedDown(spec),
    pause: (who) => pause(spec, who),
    startAll: async () => {
      for (const server of spec.servers) if (!server.instanceInfo?.instance.mongodProcess) await server.start(true)
    },
    async stop() {
      await spec.stop({ doCleanup: false, force: false })
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Starts a standalone server, for the test that refuses it. */
export async function startStandalone(): Promise<{ url: string; stop(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), "millrace-mongodb-"))
  const server = await MongoMemoryServer.create({
    binary: binaryOptions(),
    instance: { dbPath: folder, storageEngine: "wiredTiger", launchTimeout },
  })
  return {
    url: server.getUri(),
    async stop() {
      await server.stop({ doCleanup: false, force: false })
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function replicaSet(folder: string, members: number): Promise<MongoMemoryReplSet> {
  const places = await Promise.all(
    Array.from({ length: members }, async (_, index) => ({
      dbPath: await mkdtemp(join(folder, `member-${index}-`)),
      port: await freePort(),
    })),
  )
  return MongoMemoryReplSet.create({
    binary: binaryOptions(),
    instanceOpts: places.map((place) => ({ ...place, storageEngine: "wiredTiger", launchTimeout })),
    replSet: {
      count: members,
      storageEngine: "wiredTiger",
      args: ["--wiredTigerCacheSizeGB", "0.5", "--setParameter", "diagnosticDataCollectionEnabled=false"],
      // Elections within a second instead of ten.
      configSettings: { electionTimeoutMillis: 1_000, heartbeatIntervalMillis: 250 } as { electionTimeoutMillis: number },
    },
  })
}

function givenSet(url: string): MongoSet {
  const databases: string[] = []
  const refuse = () => Promise.reject(new Error("The set that MILLRACE_TEST_MONGODB_URL names is not to be broken."))
  return {
    freshUrl() {
      const fresh = withFreshDatabase(url)
      databases.push(fresh)
      return fresh
    },
    killPrimary: refuse,
    killSecondaries: refuse,
    steppedDown: refuse,
    pause: refuse,
    startAll: refuse,
    async stop() {
      for (const fresh of databases.splice(0)) {
        const client = new MongoClient(fresh)
        await client.db().dropDatabase()
        await client.close()
      }
    },
  }
}

function withFreshDatabase(url: string): string {
  // `URL` cannot parse a list of hosts.
  return url.replace(/^(mongodb(?:\+srv)?:\/\/[^/?]+)\/?[^?]*/, `$1/millrace_test_${randomBytes(6).toString("hex")}`)
}

async function kill(spec: MongoMemoryReplSet, role: "primary" | "secondaries"): Promise<void> {
  await Promise.all((await membersOf(spec, role)).map(killMember))
}

async function steppedDown(spec: MongoMemoryReplSet): Promise<void> {
  const alive = spec.servers.find(({ instanceInfo }) => instanceInfo?.instance.mongodProcess)
  const client = new MongoClient(`mongodb://127.0.0.1:${alive?.instanceInfo?.port}/?directConnection=true`)
  const isPrimary = async () => (await client.db("admin").command({ hello: 1 }))["isWritablePrimary"] === true
  await until("the primary stepping down", async () => !(await isPrimary()), { everyMs: 100 })
  await client.close()
}

async function pause(spec: MongoMemoryReplSet, who: "primary" | "secondaries" | "all"): Promise<{ resume(): void }> {
  const members = who === "all" ? spec.servers : await membersOf(spec, who)
  const signal = (name: "SIGSTOP" | "SIGCONT") => {
    for (const { instanceInfo } of members) instanceInfo?.instance.mongodProcess?.kill(name)
  }
  signal("SIGSTOP")
  return { resume: () => signal("SIGCONT") }
}

async function membersOf(spec: MongoMemoryReplSet, role: "primary" | "secondaries"): Promise<MongoMemoryServer[]> {
  const client = new MongoClient(spec.getUri())
  let primary: unknown
  // Undefined during an election.
  while (typeof primary !== "string") primary = (await client.db("admin").command({ hello: 1 }))["primary"]
  await client.close()
  const isPrimary = ({ instanceInfo }: MongoMemoryServer) => String(primary).endsWith(`:${instanceInfo?.port}`)
  return spec.servers.filter((server) => isPrimary(server) === (role === "primary"))
}

async function killMember(server: MongoMemoryServer): Promise<void> {
  const mongod = server.instanceInfo?.instance.mongodProcess
  if (!mongod) throw new Error("No process of this test is that member.")
  const dead = new Promise((resolve) => mongod.once("exit", resolve))
  mongod.kill("SIGKILL")
  await dead
  await server.stop({ doCleanup: false, force: false })
}

function binaryOptions(): { systemBinary: string; version: string } {
  if (!binary) throw new Error("No mongod: set MONGOMS_SYSTEM_BINARY or put one on PATH.")
  return binary
}

function findBinary(): { systemBinary: string; version: string } | undefined {
  const mongodPath = process.env["MONGOMS_SYSTEM_BINARY"]
  const candidates = mongodPath ? [mongodPath] : (process.env["PATH"] ?? "").split(delimiter).map((folder) => join(folder, "mongod"))
  for (const systemBinary of candidates) {
    try {
      accessSync(systemBinary, constants.X_OK)
      const version = /v(\d+\.\d+\.\d+)/.exec(execFileSync(systemBinary, ["--version"], { encoding: "utf8" }))?.[1]
      if (version) return { systemBinary, version }
    } catch (error) {
      if (mongodPath) throw new Error(`MONGOMS_SYSTEM_BINARY names ${systemBinary}, which does not run: ${String(error)}`)
    }
  }
  return undefined
}
