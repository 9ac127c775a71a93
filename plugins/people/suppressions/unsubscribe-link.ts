// The link by which the recipient of a mail unsubscribes: organization, address, category and message.
import { z } from "zod"
import type { MailKeys } from "./keys.ts"
import { openLink, sealLink } from "./sealed-link.ts"

export interface Unsubscription {
  readonly organization: string
  readonly address: string
  readonly category: "marketing"
  /** Of the message that carries the link. */
  readonly messageId: string
}

export const unsubscribePath = "/v1/unsubscribe/{token}"

const purpose = "unsubscribe"
const Told = z.tuple([z.uuid(), z.string(), z.literal("marketing"), z.string()])

/** The same for each try of a message. */
export function unsubscribeToken(keys: MailKeys, { organization, address, category, messageId }: Unsubscription): Promise<string> {
  const told = [organization, address, category, messageId] satisfies z.input<typeof Told>
  return sealLink(keys, purpose, Buffer.from(JSON.stringify(told)))
}

/** Undefined for any token that this service did not make. */
export async function readUnsubscribeToken(keys: MailKeys, token: string): Promise<Unsubscription | undefined> {
  const plain = await openLink(keys, purpose, token)
  if (!plain) return undefined
  const [organization, address, category, messageId] = Told.parse(JSON.parse(plain.toString("utf8")))
  return { organization, address, category, messageId }
}
