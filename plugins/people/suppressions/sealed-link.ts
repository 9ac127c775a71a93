// Tokens of links in messages. The content is encrypted and authenticated: a token reveals no data, and cannot be forged.
import { createCipheriv, createDecipheriv, createHmac } from "node:crypto"
import { z } from "zod"
import type { MailKeys } from "./keys.ts"

const nonceBytes = 12
const tagBytes = 16
/** An address has at most 320 characters. Longer tokens are not decrypted. */
const maxToken = 1_200

/**
 * Returns a token. Equal content has the same token, because the nonce is a MAC of the content. A token is valid for a single
 * purpose.
 */
export async function sealLink(keys: MailKeys, purpose: string, plain: Uint8Array): Promise<string> {
  const nonce = createHmac("sha256", await keys.keyFor(`${purpose} nonce`))
    .update(plain)
    .digest()
    .subarray(0, nonceBytes)
  const cipher = createCipheriv("aes-256-gcm", await keys.keyFor(purpose), nonce)
  return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]).toString("base64url")
}

/** Returns undefined unless this service created the token. */
export async function openLink(keys: MailKeys, purpose: string, token: string): Promise<Buffer | undefined> {
  const bytes = token.length > maxToken ? Buffer.alloc(0) : Buffer.from(token, "base64url")
  // Encoding again rejects other spellings of the same bytes.
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

interface Unsubscription {
  readonly organization: string
  readonly address: string
  readonly category: "marketing"
  /** Id of the message with the link. */
  readonly messageId: string
}

/** The unsubscribe link of a mail: organization, address, category and message. */
export const unsubscribePath = "/v1/unsubscribe/{token}"

const purpose = "unsubscribe"
const Told = z.tuple([z.uuid(), z.string(), z.literal("marketing"), z.string()])

/** Returns the same token for all tries of a message. */
export function unsubscribeToken(keys: MailKeys, { organization, address, category, messageId }: Unsubscription): Promise<string> {
  const told = [organization, address, category, messageId] satisfies z.input<typeof Told>
  return sealLink(keys, purpose, Buffer.from(JSON.stringify(told)))
}

/** Returns undefined unless this service created the token. */
export async function readUnsubscribeToken(keys: MailKeys, token: string): Promise<Unsubscription | undefined> {
  const plain = await openLink(keys, purpose, token)
  if (!plain) return undefined
  const [organization, address, category, messageId] = Told.parse(JSON.parse(plain.toString("utf8")))
  return { organization, address, category, messageId }
}
