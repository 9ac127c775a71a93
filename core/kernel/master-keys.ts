// Loads the master key: from the configuration, else from `<data_dir>/master.key`, else generated. A generated key is
// written only after the store is known to have no secrets sealed under another key. During a replacement the next key is in
// `master.key.next`.
import { randomBytes } from "node:crypto"
import { closeSync, fsyncSync, linkSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeSync } from "node:fs"
import { dirname, join } from "node:path"
import { keyBytes } from "./vault.ts"

export interface MasterKeyOptions {
  /** `master_key`; null if not set. */
  readonly configured: string | null
  /** `retired_master_keys`. */
  readonly retired: readonly string[]
  readonly dataDir: string
  readonly production: boolean
}

export interface MasterKeys {
  /** Seals secrets and opens its own. */
  readonly current: Buffer
  /** Open older secrets. They never seal. */
  readonly retired: readonly Buffer[]
  /** The current key's source for messages. Undefined if the key was generated just now. */
  readonly source: string | undefined
  /** The file of a generated key. */
  readonly file: string
  /** Writes a generated key to its file (mode 0600). Throws if another process has written a different key meanwhile. */
  keep(): void
}

/** Throws if a key is not 32 bytes, or if production has no key. */
export function loadMasterKeys({ configured, retired, dataDir, production }: MasterKeyOptions): MasterKeys {
  const file = join(dataDir, "master.key")
  const given = retired.map((text, at) => parseMasterKey(text, `retired_master_keys[${at}] (MILLRACE_RETIRED_MASTER_KEYS)`))
  if (configured !== null) {
    const current = parseMasterKey(configured, "master_key (MILLRACE_MASTER_KEY)")
    return { current, retired: given, source: "MILLRACE_MASTER_KEY", file, keep: () => undefined }
  }
  if (production) {
    throw new Error(
      `master_key (MILLRACE_MASTER_KEY) is not set, and in production none is generated. Create one with \`openssl rand -base64 32\`; a service that used ${file} before needs the key of that file.`,
    )
  }
  const kept = readKept(file)
  const next = readKept(nextFile(file))
  const others = next ? [...given, next] : given
  if (kept) return { current: kept, retired: others, source: file, file, keep: () => undefined }
  const current = randomBytes(keyBytes)
  return { current, retired: others, source: undefined, file, keep: () => keepGenerated(file, current) }
}

/** Returns the replacement of the key in `file`. It is generated once and survives an interruption. */
export function nextMasterKey(file: string): Buffer {
  const kept = readKept(nextFile(file))
  if (kept) return kept
  const generated = randomBytes(keyBytes)
  keepGenerated(nextFile(file), generated)
  return generated
}

/** Replaces the key in `file` by the next key. */
export function adoptNextMasterKey(file: string): void {
  renameSync(nextFile(file), file)
  flushFolder(dirname(file))
}

/** Parses 32 bytes from 64 hex digits or from base64 (either alphabet). The error does not contain the value. */
export function parseMasterKey(text: string, from: string): Buffer {
  const given = text.trim()
  if (/^[0-9a-f]{64}$/i.test(given)) return Buffer.from(given, "hex")
  const bytes = /^[A-Za-z0-9+/_-]{43}=?$/.test(given) ? Buffer.from(given, "base64") : undefined
  if (bytes?.length === keyBytes) return bytes
  throw new Error(
    `${from} must be 32 bytes, written as 64 hex digits or as base64 (44 characters); it has ${given.length} characters. \`openssl rand -base64 32\` creates one.`,
  )
}

function nextFile(file: string): string {
  return `${file}.next`
}

function readKept(file: string): Buffer | undefined {
  try {
    return parseMasterKey(readFileSync(file, "utf8"), file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined
    throw error
  }
}

/** Links the file into place. A process starting at the same time sees either no key or the complete key. */
function keepGenerated(file: string, key: Buffer): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const draft = `${file}.${process.pid}.${randomBytes(4).toString("hex")}`
  const handle = openSync(draft, "wx", 0o600)
  try {
    writeSync(handle, `${key.toString("base64")}\n`)
    fsyncSync(handle)
    linkSync(draft, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error
  } finally {
    closeSync(handle)
    rmSync(draft)
  }
  flushFolder(dirname(file))
  if (readKept(file)?.equals(key)) return
  throw new Error(`${file} was written by another process that is starting. Restart this one.`)
}

function flushFolder(folder: string): void {
  const handle = openSync(folder, "r")
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
