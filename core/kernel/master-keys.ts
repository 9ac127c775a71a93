// Where the master key comes from: the configuration, else `<data_dir>/master.key`, else it is generated. A generated key is kept
// only once the store is known to hold nothing that another key sealed. While the key is being replaced, the next one
// lies beside it in `master.key.next`.
import { randomBytes } from "node:crypto"
import { closeSync, fsyncSync, linkSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeSync } from "node:fs"
import { dirname, join } from "node:path"
import { keyBytes } from "./vault.ts"

export interface MasterKeyOptions {
  /** `master_key`; null where it is not set. */
  readonly configured: string | null
  /** `retired_master_keys`. */
  readonly retired: readonly string[]
  readonly dataDir: string
  readonly production: boolean
}

export interface MasterKeys {
  /** Seals, and opens what it sealed. */
  readonly current: Buffer
  /** Open what they sealed, and seal nothing. */
  readonly retired: readonly Buffer[]
  /** What the current one was read from, as messages name it; undefined where it was generated just now. */
  readonly source: string | undefined
  /** The file that a generated key is kept in. */
  readonly file: string
  /** Writes a generated key to its file (mode 0600). Throws when another process has kept another one meanwhile. */
  keep(): void
}

/** Throws when a key is not 32 bytes, or none is set in production. */
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

/** The key that is to take the place of the one in `file`: generated once, the same again after an interruption. */
export function nextMasterKey(file: string): Buffer {
  const kept = readKept(nextFile(file))
  if (kept) return kept
  const generated = randomBytes(keyBytes)
  keepGenerated(nextFile(file), generated)
  return generated
}

/** Puts the next key in the place of the one in `file`. */
export function adoptNextMasterKey(file: string): void {
  renameSync(nextFile(file), file)
  flushFolder(dirname(file))
}

/** 32 bytes from 64 hex digits or from base64 (either alphabet). The refusal never repeats the value. */
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

/** Linked into place, so that a process starting at the same time sees no key or all of it. */
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
