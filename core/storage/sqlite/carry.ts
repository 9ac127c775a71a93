// Carries documents with prohibitions, such as opt-outs, from the replaced file to the restored file. Without them, the service
// would write to people who opted out after the backup.
import { copyFileSync, existsSync, rmSync } from "node:fs"
import type { CollectionSpec, Document } from "../../contract/collection.ts"
import type { Write } from "../../contract/store.ts"
import { systemClock } from "../../kernel/clock.ts"
import { createStore, type StartedStore } from "../store.ts"
import { createSqliteDriver } from "./driver.ts"

/** Documents per commit. */
const batch = 500

/** Copies documents of these collections into a file with missing or older versions of them. Returns the number of documents. */
export async function carryDocuments(from: string, into: string, collections: readonly CollectionSpec[]): Promise<number> {
  const copy = `${from}.carried`
  removeFile(copy)
  try {
    // Works on a copy, because opening a store changes its file.
    copyFileSync(from, copy)
    return await within(copy, collections, (source) => within(into, collections, (target) => copyAll(source, target)))
  } finally {
    removeFile(copy)
    for (const file of [copy, into]) rmSync(`${file}.lock`, { force: true })
  }
}

async function within<T>(file: string, collections: readonly CollectionSpec[], run: (store: StartedStore) => Promise<T>): Promise<T> {
  const driver = createSqliteDriver({ file, clock: systemClock, readers: 1 })
  const store = createStore({ driver, collections, clock: systemClock })
  try {
    await store.start()
    return await run(store)
  } finally {
    await store.stop()
  }
}

async function copyAll(source: StartedStore, target: StartedStore): Promise<number> {
  let carried = 0
  let writes: Write[] = []
  const flush = async () => {
    if (writes.length > 0) await target.commit({ id: `carried:${carried}`, writes })
    writes = []
  }
  for (const collection of source.collections) {
    const organizations = collection.scope === "global" ? [undefined] : await source.organizationsIn(collection)
    for (const organization of organizations) {
      const opened =
        organization === undefined
          ? source.open(collection as CollectionSpec<Document, "global">)
          : source.open(collection as CollectionSpec<Document, "organization">, organization)
      for await (const document of opened.stream({})) {
        writes.push(writeOf(document, organization === undefined ? { collection } : { collection, organization }))
        carried++
        if (writes.length === batch) await flush()
      }
    }
  }
  await flush()
  return carried
}

function writeOf(document: Document, target: { collection: CollectionSpec; organization?: string }): Write {
  const { position, column_positions: _, ...doc } = document as Document & { position?: unknown; column_positions?: unknown }
  if (typeof position === "string") return { ...target, kind: "newest_wins", doc: doc as never, position }
  return { ...target, kind: "insert", doc: document, ifPresent: "keep" }
}

function removeFile(file: string): void {
  for (const suffix of ["", "-wal", "-shm", "-commits"]) if (existsSync(file + suffix)) rmSync(file + suffix)
}
