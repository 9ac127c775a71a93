// Mail accepted by the SMTP server: a document per delivery and receiving domain, in the domain's organization.
import { type Document, defineCollection, derivedUuid } from "#core"
import type { MailRoute } from "../sending-domains/index.ts"
import { normalAddress } from "./conversations/conversations.ts"
import type { MailEnvelope } from "./handlers.ts"

export interface StoredMail extends Document {
  domain: string
  kind: MailRoute["kind"]
  envelope: { from: string; recipients: string[]; remote_address: string; helo: string; tls: boolean }
  received_at: string
  /** Bytes. */
  size: number
  /** Key of the raw message in the organization's bucket. */
  raw_key: string
  /** Name of the handler. Null until handled. */
  handled_by: string | null
  /** Identifies the message by its author's content. Absent for mail of earlier versions. */
  content_key?: string
  /** Identifies the client, the envelope sender and the signatures. */
  source_key?: string
  /** True if DMARC passed, or SPF or DKIM for an author without a DMARC policy. Absent until the mail is handled. */
  authenticated?: boolean
  /** Recipients without an earlier event. Absent until the mail is handled. */
  event_recipients?: string[]
  /** Id of the mail with the same message in a conversation. Absent for the first mail. */
  same_as?: string
  /** Id of the last commit with a report of the author to the leads. The report fails if the conversation was removed. */
  told_in?: string
  /** UUIDv7 of the resulting pipeline event. */
  event_id: string
}

export const InboundMailCollection = defineCollection<StoredMail>()({
  name: "inbound_mails",
  scope: "organization",
  times: ["received_at"],
  indexes: [{ fields: ["-received_at"] }, { fields: ["content_key"] }, { fields: ["same_as"] }],
  audit: "none",
  repairsText: true,
})

/** Returns the same id for each delivery of one message to one domain. A repeated delivery is stored once. */
export function mailId({ organization, domain, kind }: MailRoute, identity: readonly string[]): string {
  return derivedUuid("inbound mail", organization, domain, kind, ...identity)
}

/** Deliveries of one message to one domain. Later ones may repeat an event. */
export const maxDeliveries = 200

/** Returns the normalized recipients of several deliveries. */
export function recipientsOf(mails: readonly Pick<StoredMail, "envelope">[]): Set<string> {
  return new Set(mails.flatMap(({ envelope }) => envelope.recipients.map(normalAddress)))
}

export function envelopeOf({ from, recipients, remote_address, helo, tls }: MailEnvelope): StoredMail["envelope"] {
  return { from, recipients: [...recipients], remote_address, helo, tls }
}
