// Mail as the SMTP server took it: one document for each sending domain that it was for, in that organization.
import { type Document, defineCollection, derivedUuid } from "#core"
import type { MailRoute } from "../sending-domains/index.ts"
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
  /** The name of the handler that took it; null until then. */
  handled_by: string | null
  /** Id of the commit in which leads were last told of its author: they are not where it was removed. */
  told_in?: string
  /** UUIDv7: of the event that pipelines make of it. */
  event_id: string
}

export const InboundMailCollection = defineCollection<StoredMail>()({
  name: "inbound_mails",
  scope: "organization",
  times: ["received_at"],
  indexes: [{ fields: ["-received_at"] }],
  audit: "none",
  repairsText: true,
})

/** One message for one domain, so that a client that did not hear the answer and sends it again leaves one. */
export function mailId({ organization, domain, kind }: MailRoute, identity: readonly string[]): string {
  return derivedUuid("inbound mail", organization, domain, kind, ...identity)
}

export function envelopeOf({ from, recipients, remote_address, helo, tls }: MailEnvelope): StoredMail["envelope"] {
  return { from, recipients: [...recipients], remote_address, helo, tls }
}
