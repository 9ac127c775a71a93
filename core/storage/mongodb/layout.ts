// Creates declared collections and indexes at start. Drops indexes of older declarations and rebuilds changed definitions.
// Indexes added by hand stay.
import { setTimeout as pause } from "node:timers/promises"
import { type Db, MongoNetworkError, MongoServerError } from "mongodb"
import type { CollectionSpec, IndexSpec } from "../../contract/collection.ts"
import { AppError } from "../../kernel/errors.ts"
import { allDone } from "../../kernel/promises.ts"
import { pathOf } from "./filter.ts"
import { prepareRecords } from "./record.ts"
import { isLost } from "./trouble.ts"

interface IndexDefinition {
  readonly name: string
  readonly key: Record<string, 1 | -1>
  readonly unique?: true
  readonly partialFilterExpression?: Record<string, unknown>
  readonly expireAfterSeconds?: number
}

/** Prefix of managed index names. Other indexes stay unchanged. */
const mark = "mr:"

/** Includes an election. A start during an election waits for its end. */
const maxElectionMs = 30_000
const againMs = 200

interface LayoutChange {
  readonly collection: string
  readonly dropped: readonly string[]
}

/** Returns the dropped indexes. Throws `failed_precondition` with every collection or index that could not be created. */
export async function layOut(db: Db, collections: readonly CollectionSpec[]): Promise<LayoutChange[]> {
  const problems: string[] = []
  const changes: LayoutChange[] = []
  const until = performance.now() + maxElectionMs
  await overElections(until, () => prepareRecords(db))
  await allDone(
    collections.map(async (spec) => {
      try {
        const dropped = await overElections(until, () => layOutOne(db, spec))
        if (dropped.length > 0) changes.push({ collection: spec.name, dropped })
      } catch (error) {
        if (!(error instanceof MongoServerError) || error.hasErrorLabel("RetryableWriteError")) throw error
        problems.push(`${spec.name}: ${error.message}`)
      }
    }),
  )
  if (problems.length > 0) {
    throw new AppError("failed_precondition", `MongoDB cannot set up ${problems.length} collection(s): ${problems.sort().join("; ")}`, {
      reason: "database_setup_failed",
      problems,
    })
  }
  return changes
}

/** Repeats the work after an election interrupted it. Each step skips existing parts. */
async function overElections<T>(until: number, work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work()
    } catch (error) {
      const interrupted = isLost(error) && (error instanceof MongoServerError || error instanceof MongoNetworkError)
      if (!interrupted || performance.now() > until) throw error
      await pause(againMs)
    }
  }
}

async function layOutOne(db: Db, spec: CollectionSpec): Promise<string[]> {
  await ignoring(48, db.createCollection(spec.name))
  const wanted = definitionsOf(spec)
  const there = await db.collection(spec.name).indexes()
  const dropped: string[] = []
  for (const index of there) {
    const name = String(index.name)
    if (!name.startsWith(mark)) continue
    const same = wanted.find((definition) => definition.name === name)
    if (same && (same.expireAfterSeconds === undefined || same.expireAfterSeconds === index.expireAfterSeconds)) continue
    await ignoring(27, db.collection(spec.name).dropIndex(name))
    dropped.push(name)
  }
  const names = new Set(there.map((index) => index.name).filter((name) => !dropped.includes(String(name))))
  const missing = wanted.filter(({ name }) => !names.has(name))
  if (missing.length > 0) await db.command({ createIndexes: spec.name, indexes: missing })
  return dropped
}

async function ignoring(code: number, work: Promise<unknown>): Promise<void> {
  try {
    await work
  } catch (error) {
    if (!(error instanceof MongoServerError) || error.code !== code) throw error
  }
}

function definitionsOf(spec: CollectionSpec): IndexDefinition[] {
  const definitions = spec.indexes.map((index) => definitionOf(spec, index))
  if (spec.expires) definitions.push({ name: `${mark}${spec.expires}:expires`, key: { [spec.expires]: 1 }, expireAfterSeconds: 0 })
  return [...new Map(definitions.map((definition) => [definition.name, definition])).values()]
}

/** The name encodes the whole definition, so different definitions have different names. */
function definitionOf(spec: CollectionSpec, index: IndexSpec): IndexDefinition {
  const key: Record<string, 1 | -1> = spec.scope === "organization" ? { organization_id: 1 } : {}
  let last: 1 | -1 = 1
  for (const field of index.fields) {
    last = field.startsWith("-") ? -1 : 1
    key[pathOf(field.replace(/^-/, ""))] = last
  }
  // Every sort ends with `_id`, so an index can return a page in order.
  if (!index.unique && !("_id" in key)) key["_id"] = last
  const [first = ""] = index.fields
  const fields = Object.entries(key).map(([field, direction]) => (direction === 1 ? field : `-${field}`))
  const only = Object.entries(index.only ?? {})
  const ofThese = only.map(([path, value]) => `:${pathOf(path)}=${JSON.stringify(value)}`).join("")
  const name = `${mark}${fields.join(",")}${index.unique ? ":unique" : ""}${index.sparse ? ":sparse" : ""}${ofThese}`
  const partial = {
    // MongoDB's `sparse` is different: it includes a document in a compound index if it has any of the fields.
    ...(index.sparse ? { [pathOf(first.replace(/^-/, ""))]: { $exists: true } } : {}),
    ...Object.fromEntries(only.map(([path, value]) => [pathOf(path), value])),
  }
  return {
    name,
    key,
    ...(index.unique ? { unique: true as const } : {}),
    ...(Object.keys(partial).length > 0 ? { partialFilterExpression: partial } : {}),
  }
}
