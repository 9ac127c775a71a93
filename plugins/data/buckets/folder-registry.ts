// Records the object folder of each node, to detect nodes with different folders at start. Such nodes could not read each other's
// files. A file in the folder holds its ID, so machines may mount one folder at different paths.
import { randomUUID } from "node:crypto"
import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { AppError, type Clock, type Document, defineCollection, type Ids, type Log, type Store, timestamp, type UnitsOfWork } from "#core"

export interface BucketFolder extends Document {
  /** ID of the folder. */
  folder: string
  renewed_at: string
  expires_at: string
}

/** `id` is a node's ID. */
export const BucketFolders = defineCollection<BucketFolder>()({
  name: "bucket_folders",
  scope: "global",
  times: ["renewed_at", "expires_at"],
  indexes: [],
  expires: "expires_at",
  audit: "none",
})

const renewMs = 5_000
/** A node without a renewal for this long is dead. */
const silentMs = 20_000
const keptMs = 3_600_000

export interface FolderRegistryDeps {
  readonly folder: string
  readonly store: Store
  readonly works: UnitsOfWork
  readonly clock: Clock
  readonly ids: Ids
  readonly log: (typeof Log)["type"] & {}
  /** True: a different folder fails the start. False: it is logged. */
  readonly strict: boolean
}

export class FolderRegistry {
  readonly #deps: FolderRegistryDeps
  readonly #node: string
  #cancel = () => {}
  #stopped = false

  constructor(deps: FolderRegistryDeps) {
    this.#deps = deps
    this.#node = deps.ids.uuid()
  }

  /** Throws `failed_precondition` if another node stores objects in another folder. */
  async start(): Promise<void> {
    const { folder, store, clock, log, strict } = this.#deps
    const own = await folderId(folder)
    await this.#renew(own)
    const alive = { renewed_at: { $gt: timestamp(clock.now() - silentMs) }, folder: { $ne: own } }
    const others = await store.open(BucketFolders).count(alive)
    if (others > 0) {
      const message = `${others} other node(s) of this store keep files in another folder than ${folder}, and would not find the files of this node. Set plugins.settings.buckets.s3 on every node, or mount one folder as ${folder} on all of them.`
      if (strict) {
        await this.stop()
        throw new AppError("failed_precondition", message, { reason: "separate_bucket_folders" })
      }
      log.warn(message)
    }
    this.#later(own)
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancel()
    await this.#deps.works.run((work) => work.in(BucketFolders).remove(this.#node, { optional: true })).catch(() => undefined)
  }

  async #renew(folder: string): Promise<void> {
    const { works, clock } = this.#deps
    const now = clock.now()
    const change = { folder, renewed_at: timestamp(now), expires_at: timestamp(now + keptMs) }
    await works.run((work) => work.in(BucketFolders).update(this.#node, { $set: change }, { upsert: true }))
  }

  #later(folder: string): void {
    this.#cancel = this.#deps.clock.after(renewMs, () => {
      this.#renew(folder)
        .catch((err: unknown) => this.#deps.log.debug({ err }, "the folder of this node's files could not be registered; retrying"))
        .finally(() => {
          if (!this.#stopped) this.#later(folder)
        })
    })
  }
}

/** Creates the file if it is missing. If several nodes create it at once, one wins. */
async function folderId(folder: string): Promise<string> {
  const file = join(folder, ".folder-id")
  await writeFile(file, randomUUID(), { flag: "wx", mode: 0o600 }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error
  })
  return (await readFile(file, "utf8")).trim()
}
