// Objects: bytes under a key in an organization, readable through temporary signed links. A driver stores them in a folder or in
// S3.
import { AppError, token } from "#core"
import { checkedKey, mediaTypeOf } from "./keys.ts"

export interface StoredObject {
  readonly size: number
  readonly media_type: string
  /** Read to the end, or release with `return`. */
  readonly chunks: AsyncIterable<Uint8Array>
}

/** Objects of one organization, without access to other organizations. */
export interface Bucket {
  /**
   * Replaces the object as a whole. The object is durable on resolve. Throws `resource_exhausted` if it is too large,
   * `unavailable` if storage is down.
   */
  put(key: string, bytes: Uint8Array): Promise<void>
  /** `field` is the input field named in errors about the key. */
  get(key: string, field?: string): Promise<StoredObject | undefined>
  /** Succeeds for a missing object. */
  remove(key: string): Promise<void>
  /**
   * Returns a link that reads the object without a credential. `expiresAt` is in milliseconds since the epoch, at most seven days
   * ahead.
   */
  signedUrl(key: string, expiresAt: number): Promise<string>
  /**
   * Returns the object's path on this machine, for native code that reads files. Undefined if the objects are elsewhere. Do not
   * write to the file.
   */
  fileOf(key: string): string | undefined
}

export interface Buckets {
  open(organization: string): Bucket
}

export const Buckets = token<Buckets>("Buckets")

/** S3's maximum lifetime of a link. The folder has the same limit, for equal behaviour. */
export const maxLinkMs = 7 * 24 * 3_600_000

/** Keys are validated before the call. */
export interface BucketDriver {
  put(organization: string, key: string, bytes: Uint8Array): Promise<void>
  get(organization: string, key: string): Promise<Omit<StoredObject, "media_type"> | undefined>
  remove(organization: string, key: string): Promise<void>
  signedUrl(organization: string, key: string, expiresAt: number): Promise<string>
  /** Only for objects in files of this machine. */
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
