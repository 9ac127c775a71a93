// Secrets at rest: AES-256-GCM under a key derived from the master key, that key's id beside the text, so that a master
// key can be replaced. Where the master key comes from is settled here too, once, at boot.
import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from "node:crypto"
import { closeSync, fsyncSync, linkSync, mkdirSync, openSync, readFileSync, rmSync, writeSync } from "node:fs"
import { join } from "node:path"
import { token } from "./di.ts"
import { AppError } from "./errors.ts"

/** A secret, encrypted, with the id of the key that opens it. */
export interface Sealed {
  readonly key_id: string
  /** base64 of nonce, ciphertext and tag. */
  readonly text: string
}

/** Encrypts what must not be kept in clear, bound to a context that must be named to open it. */
export interface Vault {
  /** `context` names what the secret belongs to and is authenticated: a sealed text copied elsewhere does not open. */
  seal(plain: string, context: string): Sealed
  /** Throws `data_loss` when the text was changed, or was sealed under a key that is not here. */
  open(sealed: Sealed, context: string): string
  /** A MAC key for one purpose, derived from the master key (HKDF). */
  keyFor(purpose: string): Buffer
}

export const Vault = token<Vault>("Vault")

const keyBytes = 32
const nonceBytes = 12
const tagBytes = 16

/** `retired` are master keys of before: they open what they sealed, and seal nothing. Throws when a key is not 32 bytes. */
export function createVault(masterKey: Buffer, retired: readonly Buffer[] = []): Vault {
  const sealingKeys = new Map([masterKey, ...retired].map((key) => [keyId(key), subkey(key, "seal")]))
  const current = keyId(masterKey)
  const sealingKey = subkey(masterKey, "seal")
  return {
    seal(plain, context) {
      const nonce = randomBytes(nonceBytes)
      const cipher = createCipheriv("aes-256-gcm", sealingKey, nonce).setAAD(bound(current, context))
      const text = Buffer.concat([nonce, cipher.update(plain, "utf8"), cipher.final(), cipher.getAuthTag()])
      return { key_id: current, text: text.toString("base64") }
    },
    open({ key_id, text }, context) {
      const key = sealingKeys.get(key_id)
      if (!key) {
        throw new AppError(
          "data_loss",
          `A secret is sealed under the master key "${key_id}", which is not here; this one is "${current}".`,
          {
            reason: "unknown_master_key",
          },
        )
      }
      const bytes = Buffer.from(text, "base64")
      try {
        const tag = bytes.subarray(bytes.length - tagBytes)
        const cipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, nonceBytes), { authTagLength: tagBytes })
        cipher.setAAD(bound(key_id, context)).setAuthTag(tag)
        return cipher.update(bytes.subarray(nonceBytes, bytes.length - tagBytes), undefined, "utf8") + cipher.final("utf8")
      } catch (cause) {
        throw new AppError(
          "data_loss",
          `The sealed secret of ${context} was changed, or belongs elsewhere.`,
          { reason: "sealed_text_changed" },
          { cause },
        )
      }
    },
    keyFor: (purpose) => subkey(masterKey, `mac:${purpose}`),
  }
}

/** 32 bytes from 64 hex digits or from base64 (either alphabet). The refusal never repeats the value. */
export function parseMasterKey(text: string, from: string): Buffer {
  const given = text.trim()
  if (/^[0-9a-f]{64}$/i.test(given)) return Buffer.from(given, "hex")
  const bytes = /^[A-Za-z0-9+/_-]{43}=?$/.test(given) ? Buffer.from(given, "base64") : undefined
  if (bytes?.length === keyBytes) return bytes
  throw new Error(
    `${from} must be 32 bytes, written as 64 hex digits or as base64 (44 characters); it has ${given.length} characters. \`openssl rand -base64 32\` makes one.`,
  )
}

/** The key that was configured; else the one kept at `<dataDir>/master.key` (mode 0600), drawn when it is not there. */
export function loadMasterKey(args: { configured: string | null; dataDir: string; production: boolean }): Buffer {
  if (args.configured !== null) return parseMasterKey(args.configured, "master_key (MILLRACE_MASTER_KEY)")
  const file = join(args.dataDir, "master.key")
  if (args.production) {
    throw new Error(
      `master_key (MILLRACE_MASTER_KEY) is not set, and in production none is drawn. Make one with \`openssl rand -base64 32\`; a service that ran before with ${file} goes on with what that file holds.`,
    )
  }
  return readKept(file) ?? draw(args.dataDir, file)
}

function readKept(file: string): Buffer | undefined {
  try {
    return parseMasterKey(readFileSync(file, "utf8"), file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined
    throw error
  }
}

/** Linked into place, so that a process starting at the same time sees no key or all of it, and both keep the first. */
function draw(dataDir: string, file: string): Buffer {
  mkdirSync(dataDir, { recursive: true })
  const draft = `${file}.${process.pid}.${randomBytes(4).toString("hex")}`
  const handle = openSync(draft, "wx", 0o600)
  try {
    writeSync(handle, `${randomBytes(keyBytes).toString("base64")}\n`)
    fsyncSync(handle)
    linkSync(draft, file)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error
  } finally {
    closeSync(handle)
    rmSync(draft)
  }
  const kept = readKept(file)
  if (!kept) throw new Error(`${file} was written and is gone again.`)
  return kept
}

function subkey(masterKey: Buffer, info: string): Buffer {
  if (masterKey.length !== keyBytes) throw new Error(`A master key has ${keyBytes} bytes; this one has ${masterKey.length}.`)
  return Buffer.from(hkdfSync("sha256", masterKey, "", `millrace:${info}`, keyBytes))
}

function keyId(masterKey: Buffer): string {
  return createHash("sha256").update(subkey(masterKey, "id")).digest("hex").slice(0, 16)
}

function bound(keyIdentity: string, context: string): Buffer {
  return Buffer.from(`${keyIdentity}\n${context}`, "utf8")
}
