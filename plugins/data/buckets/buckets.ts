// Objects: bytes under a key, inside an organization, with signed links that read it for a while. Where
// they are kept (a folder, S3) is the driver's business.
import { AppError, token } from "#core"
import { checkedKey, mediaTypeOf } from "./keys.ts"

export interface StoredObject {
  readonly size: number
  readonly media_type: string
  /** To be read to its end, or given up by `return`. */
  readonly chunks: AsyncIterable<Uint8Array>
}

/** One organization's objects; those of others can be neither read nor written through it. */
export interface Bucket {
  /** Durable when it resolves; what the key held is replaced as a whole. Throws `resource_exhausted` when too large, `unavailable` when storage is down. */
  put(key: string, bytes: Uint8Array): Promise<void>
  /** `field` is the input field that a refusal of the key names. */
  get(key: string, field?: string): Promise<StoredObject | undefined>
  /** An object that is not there is removed already. */
  remove(key: string): Promise<void>
  /** A link that reads the object without a credential until then (milliseconds since the epoch, at most seven days ahead). */
  signedUrl(key: string, expiresAt: number): Promise<string>
  /** Where the object is on this machine's disk, for native code that reads files; undefined where objects are elsewhere. Never to be written to. */
  fileOf(key: string): string | undefined
}

export interface Buckets {
  open(organization: string): Bucket
}

export const Buckets = token<Buckets>("Buckets")

/** The longest that S3 signs a link for; the folder keeps to it as well, so that both are used alike. */
export const maxLinkMs = 7 * 24 * 3_600_000

/** Keys it is given are checked. */
export interface BucketDriver {
  put(organization: string, key: string, bytes: Uint8Array): Promise<void>
  get(organization: string, key: string): Promise<Omit<StoredObject, "media_type"> | undefined>
  remove(organization: string, key: string): Promise<void>
  signedUrl(organization: string, key: string, expiresAt: number): Promise<string>
  /** Only where objects are files of this machine. */
  fileOf?(organization: string, key: string): string
  start(): Promise<void>
  stop(): Promise<void> | void
}

export function createBuckets(driver: BucketDriver, limits: { readonly maxObjectBytes: number; readonly now: () => number }): Buckets {
  return {
    open: (organization) => ({
      async put(key, bytes) {
        if (bytes.length > limits.maxObjectBytes) {
          const message = `The object has ${bytes.length} bytes; the limit is ${limits.maxObjectBytes} (plugins.settings.buckets.max_object_bytes).`
          throw new AppError("resource_exhausted", message, { reason: "object_too_large", retryable: false })
        }
        await driver.put(organization, checkedKey(organization, key), bytes)
      },
      async get(key, field) {
        const object = await driver.get(organization, checkedKey(organization, key, field))
        return object && { ...object, media_type: mediaTypeOf(key) ?? "application/octet-stream" }
      },
      remove: async (key) => driver.remove(organization, checkedKey(organization, key)),
      async signedUrl(key, expiresAt) {
        const life = expiresAt - limits.now()
        if (life <= 0) throw new AppError("failed_precondition", "The link would have expired already.", { reason: "already_expired" })
        if (life > maxLinkMs)
          throw new AppError("out_of_range", "A link is valid for seven days at most.", { reason: "link_ttl_too_long", max_ms: maxLinkMs })
        return driver.signedUrl(organization, checkedKey(organization, key), expiresAt)
      },
      fileOf: (key) => driver.fileOf?.(organization, checkedKey(organization, key)),
    }),
  }
}
