// Restores fixture stores into a folder and a database. The commit before this design filled them.
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { brotliDecompressSync } from "node:zlib"
import { BSON, MongoClient } from "mongodb"
import { testHost } from "#core/testing"
import { type CollectionSpec, Collections } from "../../../core/contract/collection.ts"
import { JobCollection, type JobDocument } from "../../../core/jobs/jobs-collection.ts"
import { systemClock } from "../../../core/kernel/clock.ts"
import { createLog } from "../../../core/kernel/log.ts"
import { createMongoDriver } from "../../../core/storage/mongodb/driver.ts"
import { createSqliteDriver } from "../../../core/storage/sqlite/driver.ts"
import { createStore } from "../../../core/storage/store.ts"

export type StoreKind = "sqlite" | "mongodb"

/** Data written by fill.js beside the store. */
export interface RestoredExample {
  readonly at: string
  readonly admin_key: string
  readonly organization: { readonly id: string; readonly slug: string }
  /** Id of the pending job of each type. */
  readonly jobs: Readonly<Record<string, string>>
  readonly counts: Readonly<Record<string, number>>
}

/** Ids by collection, with their organizations. */
export interface Contents {
  readonly ids: ReadonlyMap<string, ReadonlySet<string>>
  readonly jobs: ReadonlyMap<string, JobDocument>
}

export function knownOf(kind: StoreKind): RestoredExample {
  return JSON.parse(readFileSync(join(import.meta.dirname, kind, "known.json"), "utf8")) as RestoredExample
}

/** Unpacks the files into the folder. A database gets the documents; their times move on by `laterMs`. */
export async function restore(kind: StoreKind, folder: string, url: string | undefined, laterMs: number): Promise<void> {
  const files = brotliDecompressSync(readFileSync(join(import.meta.dirname, kind, "data.tar.br")))
  execFileSync("tar", ["-C", folder, "-xf", "-"], { input: files })
  if (url === undefined) return
  const text = brotliDecompressSync(readFileSync(join(import.meta.dirname, kind, "dump.json.br"))).toString()
  const dump = BSON.EJSON.parse(moved(text, laterMs), { relaxed: false }) as Record<string, BSON.Document[]>
  const client = await new MongoClient(url).connect()
  for (const [name, documents] of Object.entries(dump)) if (documents.length > 0) await client.db().collection(name).insertMany(documents)
  await client.close()
}

/** The text with every time moved: RFC 3339 and dates of BSON. */
export function moved(text: string, laterMs: number): string {
  return text
    .replace(/\b20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, (time) => new Date(Date.parse(time) + laterMs).toISOString())
    .replace(/("\$date":\{"\$numberLong":")(\d+)/g, (_, before: string, time: string) => before + String(Number(time) + laterMs))
}

/** Every collection of a service. */
export async function collectionsOf(): Promise<readonly CollectionSpec[]> {
  const host = await testHost()
  const specs = host.runtime.registry.items(Collections)
  await host.stop()
  return specs
}

/** Opens the store without a service, and reads it whole. Postpones the job `later` to a time. */
export async function contentsOf(
  specs: readonly CollectionSpec[],
  folder: string,
  url: string | undefined,
  later?: { readonly id: string; readonly run_at: string },
): Promise<Contents> {
  const driver =
    url === undefined
      ? createSqliteDriver({ file: join(folder, "millrace.db"), clock: systemClock, expireEveryMs: 3_600_000 })
      : createMongoDriver({ url, clock: systemClock, log: createLog("silent") })
  const store = createStore({ driver, collections: specs, clock: systemClock, readDeadlineMs: 60_000 })
  await store.start()
  const ids = new Map<string, Set<string>>()
  const jobs = new Map<string, JobDocument>()
  for (const spec of specs) {
    const own = new Set<string>()
    ids.set(spec.name, own)
    if (spec.scope === "global") for await (const { id } of store.open(spec as CollectionSpec<never, "global">).stream({})) own.add(`${id}`)
    else
      for (const organization of await store.organizationsIn(spec))
        for await (const { id } of store.open(spec as CollectionSpec<never, "organization">, organization).stream({}))
          own.add(`${organization} ${id}`)
  }
  for await (const job of store.open(JobCollection).stream({})) jobs.set(job.id, job)
  if (later) {
    const { id, run_at } = later
    await store.commit({ id: "later", writes: [{ kind: "update", collection: JobCollection, id, update: { $set: { run_at } } }] })
  }
  await store.stop()
  return { ids, jobs }
}
