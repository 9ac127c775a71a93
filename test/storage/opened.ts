// A store on a new embedded file, for tests of the embedded driver and of the layers above drivers.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { type CollectionSpec, defineCollection } from "../../core/contract/collection.ts"
import { systemClock } from "../../core/kernel/clock.ts"
import { createSqliteDriver, type SqliteDriver, type SqliteOptions } from "../../core/storage/sqlite/driver.ts"
import { createStore, type StartedStore, type StoreOptions } from "../../core/storage/store.ts"
import type { Note } from "./contract.ts"

export const events = defineCollection<Note>()({
  name: "events",
  scope: "global",
  times: ["until"],
  indexes: [{ fields: ["kind"] }],
  expires: "until",
})

export interface OpenedFile {
  readonly store: StartedStore
  readonly driver: SqliteDriver
  readonly file: string
  /** Stops the store. The folder stays until `close`, so the file can be opened again. */
  close(): Promise<void>
}

export async function openFile(
  collections: readonly CollectionSpec[],
  options: Partial<SqliteOptions> = {},
  above: Partial<StoreOptions> = {},
): Promise<OpenedFile> {
  const folder = mkdtempSync(join(tmpdir(), "millrace-sqlite-"))
  const file = options.file ?? join(folder, "data.db")
  const driver = createSqliteDriver({ clock: systemClock, ...options, file })
  const store = createStore({ driver, collections, clock: systemClock, readDeadlineMs: 60_000, ...above })
  const close = async () => {
    await store.stop()
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    await store.start()
  } catch (error) {
    await close()
    throw error
  }
  return { store, driver, file, close }
}
