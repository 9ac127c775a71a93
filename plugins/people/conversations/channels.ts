// The two channels and their jobs. Each channel has its own collections: conversations, messages, delivery reports and an opt-out
// ledger.
import { z } from "zod"
import { type Document, defineCollection, derivedUuid, type Json, jobRef } from "#core"
import type { StoredMessage } from "./messages.ts"
import type { OptOutEntry, OptOutState } from "./opt-out/ledger.ts"
import { personKey } from "./phone.ts"
import type { Receipt } from "./receipts.ts"

export const channels = ["chat_app", "sms"] as const
export type Channel = (typeof channels)[number]

/** Contact data from the person's own messages. Unknown fields are absent. */
export interface Contact {
  company?: string
  email?: string
  name?: string
  phone?: string
}

/** All fields except the digest are computed from the messages. The fold writes them. */
export interface StoredConversation extends Document {
  /** The service's own number, E.164. */
  number: string
  /** The person's number, E.164. */
  address: string
  created_at: string
  activity_at: string
  message_count: number
  last_inbound_at: string | null
  /** Message id of this service. The profile name comes from this message. */
  last_inbound_message_id: string | null
  last_outbound_at: string | null
  last_outbound_message_id: string | null
  sender_kind: "" | "person" | "organization"
  idle_closed_at: string | null
  /** True while a closing job is pending. */
  closing?: boolean
  /** Id of the last commit with a report of the author to the leads. The report fails if the conversation was removed. */
  told_in?: string
  contact: Contact
  summary: string
  topics: string[] | null
  revision: number
}

function collectionsOf<const N extends string>(prefix: N) {
  return {
    conversations: defineCollection<StoredConversation>()({
      name: `${prefix}_conversations`,
      scope: "organization",
      audit: "size",
      times: ["created_at", "activity_at", "last_inbound_at", "last_outbound_at", "idle_closed_at"],
      indexes: [{ fields: ["-activity_at"] }, { fields: ["number", "-activity_at"] }, { fields: ["address", "-activity_at"] }],
      repairsText: true,
    }),
    messages: defineCollection<StoredMessage>()({
      name: `${prefix}_messages`,
      scope: "organization",
      audit: "size",
      times: ["at", "sent_at", "changed_at"],
      indexes: [
        { fields: ["conversation_id", "-at", "-arrival"] },
        { fields: ["conversation_id", "direction", "-at", "-arrival"] },
        { fields: ["conversation_id", "direction", "-sent_at", "-at", "-arrival"] },
        { fields: ["conversation_id", "state"] },
        { fields: ["provider_id"] },
      ],
      repairsText: true,
    }),
    receipts: defineCollection<Receipt>()({
      name: `${prefix}_receipts`,
      scope: "organization",
      audit: "size",
      times: ["at", "expires_at"],
      indexes: [{ fields: ["provider_id"] }],
      expires: "expires_at",
      repairsText: true,
    }),
    ledger: defineCollection<OptOutEntry>()({
      name: `${prefix}_opt_outs`,
      outlivesRestore: true,
      scope: "organization",
      times: ["at", "recorded_at"],
      indexes: [{ fields: ["-at"] }, { fields: ["address", "-at"] }],
      repairsText: true,
    }),
    states: defineCollection<OptOutState>()({
      name: `${prefix}_opt_out_states`,
      outlivesRestore: true,
      scope: "organization",
      audit: "size",
      times: ["created_at", "updated_at"],
      indexes: [],
    }),
  }
}

export const collections = { chat_app: collectionsOf("chatapp"), sms: collectionsOf("text") } as const

/**
 * Returns the id of the conversation between a person and a number, also its `session_id`. Different spellings of the person's
 * number have the same id.
 */
export function conversationId(organization: string, channel: Channel, { number, address }: { number: string; address: string }): string {
  return derivedUuid("conversation", organization, channel, number, personKey(address))
}

export function messageId(organization: string, channel: Channel, providerId: string): string {
  return derivedUuid("conversation message", organization, channel, providerId)
}

const channel = z.enum(channels)
const soonAgain = { max_attempts: 20, initial_delay_ms: 50, factor: 2, max_delay_ms: 60_000 }

export const foldJob = jobRef(
  "conversations.fold",
  z.object({
    channel,
    conversation_id: z.string(),
    /** Both numbers. The fold needs them if the conversation was removed while a message arrived. */
    ends: z.object({ number: z.string(), address: z.string() }).optional(),
    /** Id of a message to the person. The person may have been erased after the message was accepted. */
    sent: z.string().optional(),
  }),
  { retry: soonAgain },
)

export const settleJob = jobRef("conversations.settle", z.object({ channel, provider_id: z.string(), message_id: z.string().nullable() }), {
  retry: soonAgain,
})

export const closeJob = jobRef("conversations.close", z.object({ channel, conversation_id: z.string() }), {
  timeoutMs: 120_000,
})

export const sendJob = jobRef("conversations.send", z.object({ channel, message_id: z.string() }))

export const mediaJob = jobRef("conversations.media", z.object({ channel, message_id: z.string() }))

export const pieceJob = jobRef(
  "conversations.receive_piece",
  z.object({
    provider: z.enum(["meta_whatsapp", "twilio"]),
    /** A webhook with at most `maxParts` parts. */
    payload: z.custom<Json>(),
    at: z.string(),
    origin: z.string(),
    piece: z.int(),
    message_id: z.string().nullable(),
  }),
)

export const moveJob = jobRef("conversations.move", z.object({ channel, from: z.string(), to: z.string(), until: z.string().nullable() }), {
  timeoutMs: 600_000,
})

export const purgeJob = jobRef("conversations.purge", z.object({ channel, conversation_id: z.string(), until: z.string() }), {
  timeoutMs: 600_000,
})
