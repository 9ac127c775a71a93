// Objects as files of a folder, `<folder>/<organization>/<key>`: readable with any file manager, nothing to install.
// An object is written beside its place and moved there when it is on disk, so that a reader sees all of it or none.
import { createReadStream } from "node:fs"
import { mkdir, open, rename, rm, stat } from "node:fs/promises"
import { dirname, join } from "node:path"
import { AppError, type Ids } from "#core"
import type { BucketDriver } from "./buckets.ts"
import { signLink } from "./signed-link.ts"

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
        const found = await stat(file)
        return found.isFile() ? { size: found.size, chunks: chunksOf(file) } : undefined
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

/** Opened by who reads and not before, so that nothing is held open for who does not, and a file that went meanwhile fails its reader alone. */
async function* chunksOf(file: string): AsyncGenerator<Uint8Array> {
  try {
    yield* createReadStream(file) as AsyncIterable<Uint8Array>
  } catch (cause) {
    throw unavailable("read", cause)
  }
}

/** The name of a new file is on disk only when its folder is. */
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
