// Stores objects as files, `<folder>/<organization>/<key>`: readable with any file manager, without installation. An object is
// written to a draft file, then moved. A reader therefore never sees a partial object.

import { createHmac } from "node:crypto"
import { createReadStream } from "node:fs"
import { mkdir, open, rename, rm, stat } from "node:fs/promises"
import { dirname, join } from "node:path"
import { AppError, type Ids, sameBytes } from "#core"
import type { BucketDriver } from "./buckets.ts"

export interface FolderArgs {
  readonly folder: string
  readonly ids: Ids
  /** `Vault.keyFor("buckets")`. */
  readonly macKey: Buffer
  readonly publicUrl: () => string
}

export function folderDriver({ folder, ids, macKey, publicUrl }: FolderArgs): BucketDriver {
  const drafts = join(folder, ".drafts")
  const fileOf = (organization: string, key: string) => join(folder, organization, ...key.split("/"))
  return {
    async put(organization, key, bytes) {
      const file = fileOf(organization, key)
      const draft = join(drafts, ids.uuid())
      try {
        await mkdir(dirname(file), { recursive: true, mode: 0o700 })
        const handle = await open(draft, "wx", 0o600)
        try {
          await handle.writeFile(bytes)
          await handle.sync()
        } finally {
          await handle.close()
        }
        await rename(draft, file)
        await syncFolder(dirname(file))
      } catch (cause) {
        await rm(draft, { force: true }).catch(() => undefined)
        throw unavailable("written", cause)
      }
    },
    async get(organization, key) {
      const file = fileOf(organization, key)
      try {
        const stats = await stat(file)
        return stats.isFile() ? { size: stats.size, chunks: chunksOf(file) } : undefined
      } catch (cause) {
        if (isMissing(cause)) return undefined
        throw unavailable("read", cause)
      }
    },
    async remove(organization, key) {
      try {
        await rm(fileOf(organization, key), { force: true })
      } catch (cause) {
        if (!isMissing(cause)) throw unavailable("removed", cause)
      }
    },
    fileOf,
    signedUrl: async (organization, key, expiresAt) => publicUrl() + signLink(macKey, { organization, key }, expiresAt),
    async start() {
      await mkdir(folder, { recursive: true, mode: 0o700 })
      await mkdir(drafts, { recursive: true, mode: 0o700 })
    },
    stop: () => undefined,
  }
}

/** Opens the file on the first read, so an unread object holds no file open. A file removed in the meantime fails only its reader. */
async function* chunksOf(file: string): AsyncGenerator<Uint8Array> {
  try {
    yield* createReadStream(file) as AsyncIterable<Uint8Array>
  } catch (cause) {
    throw unavailable("read", cause)
  }
}

/** A new file's name is durable only after its folder is synced. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r")
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

function isMissing(cause: unknown): boolean {
  const { code } = cause as NodeJS.ErrnoException
  return code === "ENOENT" || code === "ENOTDIR"
}

function unavailable(what: string, cause: unknown): AppError {
  const code = (cause as NodeJS.ErrnoException).code ?? "unknown error"
  return new AppError("unavailable", `The object could not be ${what} (${code}).`, { reason: "bucket_unavailable" }, { cause })
}

interface LinkTarget {
  readonly organization: string
  readonly key: string
}

/** Path of links to objects in a folder. The service signs organization, key and expiry with its own MAC key. */
export const objectPath = "/v1/objects/{organization}/{key+}"

/** Returns path and query of a link. `expiresAt` is in milliseconds since the epoch, rounded up to a second. */
function signLink(macKey: Buffer, { organization, key }: LinkTarget, expiresAt: number): string {
  const expires = String(Math.ceil(expiresAt / 1_000))
  const signature = mac(macKey, { organization, key }, expires).toString("base64url")
  return `/v1/objects/${organization}/${key}?expires=${expires}&signature=${signature}`
}

type LinkVerdict = "valid" | "expired" | "forged"

/** Checks a link's signature and then its expiry. A forged link therefore reveals nothing about times. */
export function checkLink(macKey: Buffer, target: LinkTarget, query: URLSearchParams, now: number): LinkVerdict {
  const expires = query.get("expires") ?? ""
  const signature = query.get("signature") ?? ""
  const right = mac(macKey, target, expires)
  const bytes = Buffer.from(signature, "base64url")
  // Re-encoding refuses other spellings of the same bytes.
  if (bytes.toString("base64url") !== signature || !sameBytes(bytes, right)) return "forged"
  if (!/^\d{1,15}$/.test(expires)) return "forged"
  return Number(expires) * 1_000 > now ? "valid" : "expired"
}

function mac(macKey: Buffer, { organization, key }: LinkTarget, expires: string): Buffer {
  return createHmac("sha256", macKey).update(["GET", organization, key, expires].join("\n")).digest()
}
