// Tokens of links in messages: what they tell is encrypted and authenticated, so that a token tells nothing, and nobody makes
// one for somebody else.
import { createCipheriv, createDecipheriv, createHmac } from "node:crypto"
import type { MailKeys } from "./keys.ts"

const nonceBytes = 12
const tagBytes = 16
/** An address has 320 characters at most; what is longer is not decrypted. */
const maxToken = 1_200

/** The same for the same: the nonce is a MAC of what is told. Tokens of one purpose are not read for another. */
export async function sealLink(keys: MailKeys, purpose: string, plain: Uint8Array): Promise<string> {
  const nonce = createHmac("sha256", await keys.keyFor(`${purpose} nonce`))
    .update(plain)
    .digest()
    .subarray(0, nonceBytes)
  const cipher = createCipheriv("aes-256-gcm", await keys.keyFor(purpose), nonce)
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]).toString("base64url")
}

/** Undefined for any token that this service did not make. */
export async function openLink(keys: MailKeys, purpose: string, token: string): Promise<Buffer | undefined> {
  const bytes = token.length > maxToken ? Buffer.alloc(0) : Buffer.from(token, "base64url")
  // Re-encoding refuses other spellings of the same bytes.
  if (bytes.length <= nonceBytes + tagBytes || bytes.toString("base64url") !== token) return undefined
  const end = bytes.length - tagBytes
  const decipher = createDecipheriv("aes-256-gcm", await keys.keyFor(purpose), bytes.subarray(0, nonceBytes), {
    authTagLength: tagBytes,
  }).setAuthTag(bytes.subarray(end))
  try {
    return Buffer.concat([decipher.update(bytes.subarray(nonceBytes, end)), decipher.final()])
  } catch {
    return undefined
  }
}
