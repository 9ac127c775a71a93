// Secrets at rest: AES-256-GCM under a key derived from the master key. The master key's id is stored beside the text, so
// the master key can be replaced.
import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes, timingSafeEqual } from "node:crypto"
import { token } from "./di.ts"
import { AppError } from "./errors.ts"

/** An encrypted secret with the id of its key. */
export interface Sealed {
  readonly key_id: string
  /** base64 of nonce, ciphertext and tag. */
  readonly text: string
}

/** Encrypts secrets for storage. A secret opens only with the context of its sealing. */
export interface Vault {
  /** Id of the sealing master key. */
  readonly keyId: string
  /** Returns true if secrets sealed under this master key can be opened. */
  knows(keyId: string): boolean
  /** `context` names the owner of the secret and is authenticated. A sealed text copied elsewhere does not open. */
  seal(plain: string, context: string): Sealed
  /** Throws `data_loss` if the text was changed or its key is unknown. */
  open(sealed: Sealed, context: string): string
  /** A MAC key for one purpose, derived from the master key (HKDF). */
  keyFor(purpose: string): Buffer
}

export const Vault = token<Vault>("Vault")

/** Bytes of a master key. */
export const keyBytes = 32
const nonceBytes = 12
const tagBytes = 16

/** Keys in `retired` open older secrets and never seal. Throws if a key is not 32 bytes. */
export function createVault(masterKey: Buffer, retired: readonly Buffer[] = []): Vault {
  const sealingKeys = new Map([masterKey, ...retired].map((key) => [keyId(key), subkey(key, "seal")]))
  const current = keyId(masterKey)
  const sealingKey = subkey(masterKey, "seal")
  return {
    keyId: current,
    knows: (id) => sealingKeys.has(id),
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
          `The secret of ${context} is encrypted with the master key ${key_id}, which this node does not have; its own is ${current}.`,
          { reason: "unknown_master_key" },
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
          `The encrypted secret of ${context} was tampered with, or belongs to another context.`,
          { reason: "sealed_text_corrupt" },
          { cause },
        )
      }
    },
    keyFor: (purpose) => subkey(masterKey, `mac:${purpose}`),
  }
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

/** Compares signatures and hashes, whose length is public. Texts are compared as UTF-8. */
export function sameBytes(given: Uint8Array | string, expected: Uint8Array | string): boolean {
  const [left, right] = [bytesOf(given), bytesOf(expected)]
  return left.length === right.length && timingSafeEqual(left, right)
}

/** Compares secrets, whose length is not public. Both sides are hashed first. */
export function sameSecret(given: Uint8Array | string, expected: Uint8Array | string): boolean {
  return timingSafeEqual(digestOf(given), digestOf(expected))
}

function bytesOf(value: Uint8Array | string): Uint8Array {
  return typeof value === "string" ? Buffer.from(value, "utf8") : value
}

function digestOf(value: Uint8Array | string): Buffer {
  return createHash("sha256").update(bytesOf(value)).digest()
}
