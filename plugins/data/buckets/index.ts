// Buckets store files of plugins (images, exports), readable by signed link. Uses a folder by default, S3 by settings.
import { join } from "node:path"
import { AppError, Clock, definePlugin, defineRoute, Ids, Log, PublicUrl, Settings, Store, token, UnitsOfWork, Vault } from "#core"
import { type BucketDriver, Buckets, createBuckets } from "./buckets.ts"
import { checkLink, folderDriver, objectPath } from "./folder.ts"
import { BucketFolders, FolderRegistry } from "./folder-registry.ts"
import { isDownload, mediaTypeOf } from "./keys.ts"
import { reasons } from "./reasons.ts"
import { s3Driver } from "./s3.ts"
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

const readObject = defineRoute({
  name: "buckets.read_object",
  summary: "Read an object by a signed link.",
  method: "GET",
  path: objectPath,
  origins: "any",
  inject: { buckets: Buckets, vault: Vault, clock: Clock },
  async handle({ request, deps }) {
    const { organization = "", key = "" } = request.params
    const now = deps.clock.now()
    const verdict = checkLink(deps.vault.keyFor("buckets"), { organization, key }, request.query, now)
    if (verdict === "forged")
      throw new AppError("permission_denied", "The link's signature does not match.", { reason: "invalid_signature" })
    if (verdict === "expired")
      throw new AppError("permission_denied", "The link has expired; ask for a new one.", { reason: "link_expired" })
    const object = await deps.buckets.open(organization).get(key)
    if (!object) throw new AppError("not_found", "The object does not exist.", { reason: "object_not_found" })
    const lifeS = Math.max(0, Math.floor(Number(request.query.get("expires")) - now / 1_000))
    return {
      headers: {
        "Content-Type": mediaTypeOf(key) ?? "application/octet-stream",
        "Content-Length": String(object.size),
        "X-Content-Type-Options": "nosniff",
        ...(isDownload(key) && { "Content-Disposition": "attachment" }),
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "Cache-Control": `private, max-age=${lifeS}`,
        "Cross-Origin-Resource-Policy": "cross-origin",
        "Referrer-Policy": "no-referrer",
      },
      body: object.chunks,
    }
  },
})
