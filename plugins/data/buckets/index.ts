// Buckets: where plugins keep files (images, exports) that are read by signed link. A folder by default, S3 by settings.
import { join } from "node:path"
import { Clock, definePlugin, Ids, Log, PublicUrl, Settings, Store, token, UnitsOfWork, Vault } from "#core"
import { type BucketDriver, Buckets, createBuckets } from "./buckets.ts"
import { folderDriver } from "./folder.ts"
import { BucketFolders, FolderRegistry } from "./folder-registry.ts"
import { reasons } from "./reasons.ts"
import { s3Driver } from "./s3.ts"
import { readObject } from "./serve.ts"
import { BucketSettings } from "./settings.ts"

export { type Bucket, Buckets, maxLinkMs } from "./buckets.ts"

const Driver = token<BucketDriver>("BucketDriver")

export default definePlugin({
  id: "buckets",
  reasons,
  config: BucketSettings,
  register(reg, config) {
    const { s3 } = config
    reg.provide(Driver, {
      inject: { settings: Settings, vault: Vault, ids: Ids, clock: Clock, log: Log, publicUrl: PublicUrl },
      create: ({ settings, vault, ids, clock, log, publicUrl }) =>
        s3
          ? s3Driver(s3, { log, now: () => clock.now() })
          : folderDriver({ folder: join(settings.data_dir, "buckets"), ids, macKey: vault.keyFor("buckets"), publicUrl }),
      start: (driver) => driver.start(),
      stop: (driver) => driver.stop(),
    })
    reg.provide(Buckets, {
      inject: { driver: Driver, clock: Clock },
      create: ({ driver, clock }) => createBuckets(driver, { maxObjectBytes: config.max_object_bytes, now: () => clock.now() }),
    })
    if (s3) return
    reg.collections(BucketFolders)
    reg.run("folder registry", {
      inject: { driver: Driver, settings: Settings, store: Store, works: UnitsOfWork, clock: Clock, ids: Ids, log: Log },
      create: ({ settings, driver: _driver, ...deps }) => {
        // The embedded store has one node.
        if (!settings.storage.url) return undefined
        const strict = process.env["NODE_ENV"] === "production"
        return new FolderRegistry({ ...deps, folder: join(settings.data_dir, "buckets"), strict })
      },
      start: (registry) => registry?.start(),
      stop: (registry) => registry?.stop(),
    })
    reg.routes(readObject)
  },
})
