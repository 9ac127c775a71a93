// Conversations by mail: one for each address that the organization's domains hear from, with its messages both ways.
import { type Document, defineCollection, derivedUuid } from "#core"
import type { Authentication } from "../parse/authentication.ts"
import type { MailAddress, MailAttachment } from "../parse/content.ts"

export interface StoredConversation extends Document {
  /** The other side, in its one spelling. */
  address: string
  name: string
  /** Of the first message. */
  subject: string
  /** The sending domain that it was last written to. */
  domain: string
  message_count: number
  /** Whether the other side has written. */
  answered: boolean
  last_message_at: string
  last_direction: StoredMessage["direction"]
  last_preview: string
  revision: number
  created_at: string
  updated_at: string
}

export interface StoredMessage extends Document {
  conversation_id: string
  direction: "inbound" | "outbound"
  /** With angle brackets; empty where it has none. */
  message_id: string
  from: MailAddress
  to: MailAddress[]
  cc: MailAddress[]
  subject: string
  text: string
  attachments: MailAttachment[]
  /** When it was received, or sent. */
  at: string
  /** What the author says; null where it says nothing. */
  dated: string | null
  /** Of an inbound message. */
  inbound: {
    domain: string
    authentication: Omit<Authentication, "signed_by"> & { signed_by: string[] }
    /** DMARC fails, and the author's domain asks for such mail not to be taken for its own. */
    quarantined: boolean
    /** Written by a program, or asks for no automatic answer. */
    automatic: boolean
    problem: string
    /** What became of forwarding it; null where nobody is named to forward to. */
    forward: Forward | null
  } | null
}

export interface Forward {
  state: "queued" | "sent" | "suppressed" | "failed" | "skipped"
  to: string
  /** Why it was skipped or failed; empty otherwise. */
  reason: string
}

export const ConversationCollection = defineCollection<StoredConversation>()({
  name: "email_conversations",
  scope: "organization",
  times: ["last_message_at", "created_at", "updated_at"],
  indexes: [{ fields: ["-last_message_at"] }, { fields: ["address", "-last_message_at"] }, { fields: ["domain", "-last_message_at"] }],
  audit: "none",
  repairsText: true,
})

export const MessageCollection = defineCollection<StoredMessage>()({
  name: "email_messages",
  scope: "organization",
  times: ["at", "dated"],
  indexes: [{ fields: ["conversation_id", "-at"] }, { fields: ["message_id"] }],
  audit: "none",
  repairsText: true,
})

export function conversationId(organization: string, address: string): string {
  return derivedUuid("email conversation", organization, address)
}
