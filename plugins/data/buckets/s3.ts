// Stores objects in S3 or a compatible server. The client library is loaded only if S3 is configured. Errors contain only name
// and status: the library's own errors include requests with credentials.
import type { S3Client } from "@aws-sdk/client-s3"
import { AppError, type Logger } from "#core"
import { type BucketDriver, maxLinkMs } from "./buckets.ts"
import { isDownload, mediaTypeOf } from "./keys.ts"
import type { S3Settings } from "./settings.ts"

interface Opened {
  readonly sdk: typeof import("@aws-sdk/client-s3")
  readonly presign: typeof import("@aws-sdk/s3-request-presigner")["getSignedUrl"]
  readonly client: S3Client
  /** Signs links with the endpoint for readers. */
  readonly linking: S3Client
}

const connectionTimeout = 5_000
const probe = "millrace-probe.txt"

export function s3Driver(settings: S3Settings, deps: { readonly log: Logger; readonly now: () => number }): BucketDriver {
  const Bucket = settings.bucket
  const keyOf = (organization: string, key: string) => `${settings.prefix}${organization}/${key}`
  let opening: Promise<Opened> | undefined
  const opened = () => {
    opening ??= openClients(settings)
    return opening
  }
  return {
    async put(organization, key, bytes) {
      const { sdk, client } = await opened()
      const Key = keyOf(organization, key)
      await client
        .send(new sdk.PutObjectCommand({ Bucket, Key, Body: bytes, ContentType: mediaTypeOf(key) }))
        .catch((cause: unknown) => Promise.reject(refusal("store", Bucket, cause)))
    },
    async get(organization, key) {
      const { sdk, client } = await opened()
      try {
        const object = await client.send(new sdk.GetObjectCommand({ Bucket, Key: keyOf(organization, key) }))
        if (!object.Body) return undefined
        return { size: object.ContentLength ?? 0, chunks: whole(object.Body as unknown as AsyncIterable<Uint8Array>, Bucket) }
      } catch (cause) {
        const { name } = errorDetails(cause)
        if (name === "NoSuchKey" || name === "NotFound") return undefined
        throw refusal("give", Bucket, cause)
      }
    },
    async remove(organization, key) {
      const { sdk, client } = await opened()
      await client
        .send(new sdk.DeleteObjectCommand({ Bucket, Key: keyOf(organization, key) }))
        .catch((cause: unknown) => Promise.reject(refusal("remove", Bucket, cause)))
    },
    async signedUrl(organization, key, expiresAt) {
      const { sdk, presign, linking } = await opened()
      const asDownload = isDownload(key) ? { ResponseContentDisposition: "attachment" } : {}
      const command = new sdk.GetObjectCommand({ Bucket, Key: keyOf(organization, key), ...asDownload })
      // A signature's date has whole seconds. The lifetime is counted from this date, so links do not end early.
      const dated = Math.floor(deps.now() / 1_000)
      const expiresIn = Math.min(Math.ceil(expiresAt / 1_000) - dated, maxLinkMs / 1_000)
      return presign(linking, command, { expiresIn, signingDate: new Date(dated * 1_000) }).catch((cause: unknown) =>
        Promise.reject(refusal("sign a link to", Bucket, cause)),
      )
    },
    /** Writes and removes a small object. Wrong settings fail the boot. An unavailable server is only logged, because it may return. */
    async start() {
      const { sdk, client } = await opened()
      const Key = settings.prefix + probe
      try {
        await client.send(new sdk.PutObjectCommand({ Bucket, Key, Body: "Millrace can write here.\n", ContentType: "text/plain" }))
        await client.send(new sdk.DeleteObjectCommand({ Bucket, Key }))
      } catch (cause) {
        const { name, status } = errorDetails(cause)
        const message = `The bucket "${Bucket}"${settings.endpoint ? ` at ${settings.endpoint}` : ""} could not be written to (${name}${status ? `, HTTP ${status}` : ""})`
        if (status === undefined || status >= 500 || status === 429) {
          deps.log.warn(
            { bucket: Bucket, error: name, status },
            `${message}; continuing, but objects cannot be stored until it is available`,
          )
          return
        }
        throw new Error(`${message}. Correct bucket, region, endpoint and credentials under plugins.settings.buckets.s3.`)
      }
    },
    async stop() {
      const clients = await opening?.catch(() => undefined)
      clients?.client.destroy()
      clients?.linking.destroy()
    },
  }
}

/** Yields all chunks. A broken stream throws an AppError. */
async function* whole(body: AsyncIterable<Uint8Array>, bucket: string): AsyncGenerator<Uint8Array> {
  try {
    yield* body
  } catch (cause) {
    throw refusal("give", bucket, cause)
  }
}

async function openClients(settings: S3Settings): Promise<Opened> {
  const [sdk, { getSignedUrl }] = await Promise.all([import("@aws-sdk/client-s3"), import("@aws-sdk/s3-request-presigner")])
  const { access_key_id, secret_access_key, timeout_ms: requestTimeout } = settings
  const own = access_key_id !== undefined && secret_access_key !== undefined
  const base = {
    region: settings.region,
    forcePathStyle: settings.path_style,
    maxAttempts: 3,
    requestHandler: { connectionTimeout, requestTimeout, socketTimeout: requestTimeout, throwOnRequestTimeout: true },
    // Many compatible servers do not support checksums beyond the signature's own.
    requestChecksumCalculation: "WHEN_REQUIRED" as const,
    responseChecksumValidation: "WHEN_REQUIRED" as const,
    ...(own ? { credentials: { accessKeyId: access_key_id, secretAccessKey: secret_access_key } } : {}),
  }
  const at = (endpoint: string | undefined) => new sdk.S3Client(endpoint === undefined ? base : { ...base, endpoint })
  return { sdk, presign: getSignedUrl, client: at(settings.endpoint), linking: at(settings.public_endpoint ?? settings.endpoint) }
}

function errorDetails(cause: unknown): { name: string; status: number | undefined } {
  const error = cause as { name?: string; code?: string; $metadata?: { httpStatusCode?: number } }
  return { name: error.code ?? error.name ?? "unknown error", status: error.$metadata?.httpStatusCode }
}

function refusal(what: string, bucket: string, cause: unknown): AppError {
  const { name, status } = errorDetails(cause)
  const answer = `${name}${status ? `, HTTP ${status}` : ""}`
  return new AppError("unavailable", `The bucket "${bucket}" did not ${what} the object (${answer}).`, { reason: "bucket_unavailable" })
}
