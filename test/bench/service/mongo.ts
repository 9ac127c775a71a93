// A real MongoDB on the same cores and disk as the service: a replica set of one member, from MONGOMS_SYSTEM_BINARY, a `mongod`
// on PATH, or the project's own download tool.
import { execFileSync } from "node:child_process"
import { accessSync, constants, rmSync } from "node:fs"
import { delimiter, join } from "node:path"
import { MongoMemoryReplSet } from "mongodb-memory-server-core"
import { projectRoot } from "../../import-graph.ts"
import { benchFolder } from "../machine.ts"

export interface Mongo {
  readonly url: string
  stop(): Promise<void>
}

/** Returns undefined if no server is available. */
export async function startMongo(): Promise<Mongo | undefined> {
  const systemBinary = findBinary()
  if (systemBinary === undefined) return undefined
  const version = /v(\d+\.\d+\.\d+)/.exec(execFileSync(systemBinary, ["--version"], { encoding: "utf8" }))?.[1] ?? ""
  const dbPath = benchFolder()
  const set = await MongoMemoryReplSet.create({
    binary: { systemBinary, version },
    instanceOpts: [{ dbPath, storageEngine: "wiredTiger" }],
    replSet: { count: 1, storageEngine: "wiredTiger", args: ["--wiredTigerCacheSizeGB", "1"] },
  })
  return {
    url: set.getUri().replace(/^(mongodb:\/\/[^/?]+)\/?[^?]*/, "$1/millrace_bench"),
    async stop() {
      await set.stop({ doCleanup: false, force: false })
      rmSync(dbPath, { recursive: true, force: true })
    },
  }
}

function findBinary(): string | undefined {
  const mongodPath = process.env["MONGOMS_SYSTEM_BINARY"]
  const candidates = mongodPath ? [mongodPath] : (process.env["PATH"] ?? "").split(delimiter).map((folder) => join(folder, "mongod"))
  return candidates.find(runs) ?? fetched()
}

function fetched(): string | undefined {
  const tool = join(projectRoot, "../shared/tools/mongod")
  if (!runs(tool)) return undefined
  try {
    return execFileSync(tool, { encoding: "utf8" }).trim()
  } catch {
    return undefined
  }
}

function runs(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
