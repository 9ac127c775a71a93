// Conversations by mail, one per remote address, with messages in both directions.
import { type Document, defineCollection, derivedUuid } from "#core"
import type { Authentication } from "../parse/authentication.ts"
import type { MailAddress, MailAttachment } from "../parse/content.ts"

export interface StoredConversation extends Document {
  /** Normalized address of the other side. */
  address: string
  name: string
  /** Subject of the first message. */
  subject: string
  /** The sending domain of the last message to the other side. */
  domain: string
  message_count: number
  /** True if the other side has written. */
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
  /** With angle brackets. Empty if absent. */
  message_id: string
  from: MailAddress
  to: MailAddress[]
  cc: MailAddress[]
  subject: string
  text: string
  attachments: MailAttachment[]
  /** Time received or sent. */
  at: string
  /** The author's Date. Null if absent. */
  dated: string | null
  /** Set for an inbound message. */
  inbound: {
    domain: string
    authentication: Omit<Authentication, "signed_by"> & { signed_by: string[] }
    /** True if DMARC fails and the policy of the author's domain asks receivers to distrust the mail. */
    quarantined: boolean
    /** True if a program wrote the mail, or the mail asks for no automatic answer. */
    automatic: boolean
    problem: string
    /** Outcome of forwarding. Null if no forwarding address is set. */
    forward: Forward | null
  } | null
}

export interface Forward {
  state: "queued" | "sent" | "suppressed" | "failed" | "skipped"
  to: string
  /** Reason for the skip or failure. Empty otherwise. */
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
