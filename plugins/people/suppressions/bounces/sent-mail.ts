// Sent mail through the service's own domains, by the token in the envelope sender (VERP). The token is the only proof for a
// bounce or complaint about mail of this service.
import { createHash, createHmac } from "node:crypto"
import { type Clock, type Document, defineCollection, type Store, timestamp, type UnitsOfWork } from "#core"
import { type LeavingMail, normalAddress } from "../../email/index.ts"
import type { MailKeys } from "../keys.ts"

export interface SentMail extends Document {
  owner_id: string
  message_id: string
  /** Normalized addresses. */
  recipients: string[]
  expires_at: string
}

/** `id` is a hash of the token. Global, because several organizations may share a domain. */
export const SentMailCollection = defineCollection<SentMail>()({
  name: "sent_mails",
  scope: "global",
  times: ["expires_at"],
  indexes: [],
  expires: "expires_at",
  audit: "none",
})

/** Complaints arrive late, when people read their mail. */
const keptMs = 90 * 86_400_000
const alphabet = "abcdefghijklmnopqrstuvwxyz234567"
/** Letters and digits, case-insensitive because servers on the way may change the case: 130 bits. */
const tokenLength = 26
const inAddress = new RegExp(`^bounces\\+([a-z2-7]{${tokenLength}})$`, "i")

/** Returns the token of a return path address. `localPart`: the text before the @. */
export function tokenOf(localPart: string): string | undefined {
  return inAddress.exec(localPart)?.[1]?.toLowerCase()
}

interface SentMailServices {
  readonly store: Store
  readonly keys: MailKeys
  readonly work: UnitsOfWork
  readonly clock: Clock
}

/** Stores a message before it is sent, and returns its token. All tries of a message have the same token. */
export async function rememberSent({ keys, work, clock }: SentMailServices, mail: LeavingMail): Promise<string> {
  const mac = createHmac("sha256", await keys.keyFor("return path"))
    .update(`${mail.organization}\n${mail.messageId}`)
    .digest()
  const token = Array.from(mac.subarray(0, tokenLength), (byte) => alphabet[byte & 31]).join("")
  const doc: SentMail = {
    id: idOf(token),
    owner_id: mail.organization,
    message_id: mail.messageId,
    recipients: mail.recipients.map(normalAddress),
    expires_at: timestamp(clock.now() + keptMs),
  }
  await work.run((staged) => staged.in(SentMailCollection).insert(doc, { ifPresent: "keep" }))
  return token
}

export function findSent(store: Store, token: string): Promise<SentMail | undefined> {
  return store.open(SentMailCollection).get(idOf(token))
}

function idOf(token: string): string {
  return createHash("sha256").update(token).digest("hex")
}
