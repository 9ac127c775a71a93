// The link by which the recipient of a message unsubscribes: organization, address, category and message, encrypted and
// authenticated, so that it tells nothing, and nobody makes one for another address.
import { createCipheriv, createDecipheriv, createHmac } from "node:crypto"
import { z } from "zod"
import type { MailKeys } from "./keys.ts"

export interface Unsubscription {
  readonly organization: string
  readonly address: string
  readonly category: "marketing"
  /** Of the message that carries the link. */
  readonly messageId: string
}

export const unsubscribePath = "/v1/unsubscribe/{token}"

const Told = z.tuple([z.uuid(), z.string(), z.literal("marketing"), z.string()])
const nonceBytes = 12
const tagBytes = 16
/** An address has 320 characters at most; what is longer is not decrypted. */
const maxToken = 1_200

/** The same for each try of a message: the nonce is a MAC of what is told. */
export async function unsubscribeToken(keys: MailKeys, { organization, address, category, messageId }: Unsubscription): Promise<string> {
  const plain = JSON.stringify([organization, address, category, messageId] satisfies z.input<typeof Told>)
  const nonce = createHmac("sha256", await keys.keyFor("unsubscribe nonce"))
    .update(plain)
    .digest()
    .subarray(0, nonceBytes)
  const cipher = createCipheriv("aes-256-gcm", await keys.keyFor("unsubscribe"), nonce)
  return Buffer.concat([nonce, cipher.update(plain, "utf8"), cipher.final(), cipher.getAuthTag()]).toString("base64url")
}

/** Undefined for any token that this service did not make. */
export async function readUnsubscribeToken(keys: MailKeys, token: string): Promise<Unsubscription | undefined> {
  const bytes = token.length > maxToken ? Buffer.alloc(0) : Buffer.from(token, "base64url")
  // Re-encoding refuses other spellings of the same bytes.
  if (bytes.length <= nonceBytes + tagBytes || bytes.toString("base64url") !== token) return undefined
  const end = bytes.length - tagBytes
  const decipher = createDecipheriv("aes-256-gcm", await keys.keyFor("unsubscribe"), bytes.subarray(0, nonceBytes), {
    authTagLength: tagBytes,
  }).setAuthTag(bytes.subarray(end))
  try {
    const plain = decipher.update(bytes.subarray(nonceBytes, end), undefined, "utf8") + decipher.final("utf8")
    const [organization, address, category, messageId] = Told.parse(JSON.parse(plain))
    return { organization, address, category, messageId }
  } catch {
    return undefined
  }
}
