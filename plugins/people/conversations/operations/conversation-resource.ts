// Output schemas of conversations and messages.
import { z } from "zod"
import { AnyJson, Timestamp, Uuid } from "#core"
import { mediaStates, messageKinds, type StoredMessage } from "../messages.ts"
import { NumberFilter } from "../phone.ts"
import { deliveryStates } from "../receipts.ts"
import type { ReadConversation } from "../summaries.ts"

const int64 = 2 ** 63

/** Input of both lists. An empty value counts as absent. */
export const listInput = {
  phone_number: NumberFilter.describe("The service's own number."),
  address: NumberFilter.describe("The person's number."),
  limit: z
    .number()
    .refine((limit) => Number.isInteger(limit) && limit >= 0 && limit <= int64, "expected a 64-bit integer that is not negative")
    .transform((limit) => Math.min(limit || 50, 200))
    .default(50)
    .meta({ type: "integer", format: "int64", description: "Page size; at most 200." }),
  cursor: z.string().max(2_000).default("").describe("`next_cursor` of the previous page; empty for the first."),
  canonical_lead_id: z
    .string()
    .max(100)
    .regex(
      /^(?:|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[A-Za-z0-9_-]{22})$/i,
      "expected the UUID of a lead, or its 22-character reference",
    )
    .default("")
    .describe("UUID of a lead, or its 22-character reference."),
}

const Contact = z
  .object({ company: z.string().optional(), email: z.string().optional(), name: z.string().optional(), phone: z.string().optional() })
  .describe("What the person gave about themselves; a field is absent where they did not.")

const summaryFields = {
  session_id: Uuid,
  address: z.string().describe("The person's number, E.164."),
  phone_number: z.string().describe("The service's own number, E.164; the same that answers calls and texts."),
  agent_ref: z.string().describe("The managed voice agent that the number belongs to; empty where it is not registered."),
  canonical_lead_id: z.string(),
  lead_reference: z.string(),
  sender_kind: z.string().describe("Who wrote last: `person` or `organization`; empty until a message is received or sent."),
  message_count: z.int().describe("Received and sent messages."),
  created_at: Timestamp,
  last_inbound_at: Timestamp.nullable(),
  last_outbound_at: Timestamp.nullable().describe("When the newest message of this organization was sent."),
  last_outbound_message_id: z.string().describe("The newest message that this organization sent; empty when nothing was sent."),
  contact: Contact,
  summary: z.string().describe("Empty until the conversation was idle for a while."),
  topics: z.array(z.string()).nullable(),
  idle_closed_at: Timestamp.nullable().describe("Since when it is closed for being idle; null while it is open."),
}

export const ChatAppConversation = z
  .object({
    ...summaryFields,
    display_name: z.string().describe("The profile name on the person's newest message; empty without one."),
    suppressed: z
      .boolean()
      .describe("Whether the person is opted out of the chat app, by its own ledger. Says nothing about text messages."),
  })
  .meta({ id: "ChatAppConversation" })

export const TextConversation = z
  .object({
    ...summaryFields,
    suppressed: z
      .boolean()
      .describe("Whether the person is opted out of text messages, by their own ledger. Says nothing about the chat app."),
  })
  .meta({ id: "TextConversation" })

export function shownText({ conversation, suppressed, number, lead }: ReadConversation): z.input<typeof TextConversation> {
  const {
    id,
    number: phone_number,
    last_outbound_message_id,
    activity_at: _activity,
    organization_id: _organization,
    ...rest
  } = conversation
  const { last_inbound_message_id: _inbound, closing: _closing, revision: _revision, ...fields } = rest
  return {
    ...fields,
    session_id: id,
    phone_number,
    agent_ref: number?.agent_ref ?? "",
    canonical_lead_id: lead?.canonical_lead_id ?? "",
    lead_reference: lead?.lead_reference ?? "",
    last_outbound_message_id: last_outbound_message_id ?? "",
    suppressed,
  }
}

export function shownChatApp(read: ReadConversation): z.input<typeof ChatAppConversation> {
  return { ...shownText(read), display_name: read.display_name }
}

const messageFields = {
  id: Uuid,
  direction: z.enum(["in", "out"]),
  at: Timestamp.describe("When the person sent it, or when it was asked to be sent."),
  provider_message_id: z.string().describe("Empty until the provider has given one."),
  kind: z.enum(messageKinds),
  text: z.string().describe("Body, caption, or the title of the button that was chosen."),
  media: z.array(
    z.object({
      media_type: z.string(),
      file_name: z.string(),
      state: z
        .enum(mediaStates)
        .describe("`pending`: being fetched; `stored`; `refused`: too large, or of a type that is not taken; `failed`."),
      problem: z.string(),
      size: z.int(),
      url: z.string().describe("Signed link, good for an hour; empty without a file."),
    }),
  ),
  state: z.enum(deliveryStates).describe("`unknown`: the provider did not answer, and the message is not sent again."),
  error: z.object({ code: z.string(), message: z.string() }).nullable(),
}

export const TextMessage = z.object(messageFields).meta({ id: "TextMessage" })

export const ChatAppMessage = z
  .object({
    ...messageFields,
    profile_name: z.string().describe("As the person had it when they wrote."),
    location: z.object({ latitude: z.number(), longitude: z.number(), name: z.string(), address: z.string() }).nullable(),
    context: z
      .object({ provider_message_id: z.string(), forwarded: z.boolean() })
      .nullable()
      .describe("The message that this one answers, or that it was forwarded."),
    referral: z
      .object({
        source_type: z.string(),
        source_id: z.string(),
        source_url: z.string(),
        headline: z.string(),
        body: z.string(),
        click_id: z.string(),
      })
      .nullable()
      .describe("The advertisement or post by which the person began."),
    reaction: z.object({ provider_message_id: z.string(), emoji: z.string().describe("Empty: the reaction was taken back.") }).nullable(),
    template: z.object({ name: z.string(), language: z.string(), components: z.array(AnyJson) }).nullable(),
    content: AnyJson.describe("As the provider sent it, of kinds that the other fields do not hold, such as `contacts`."),
  })
  .meta({ id: "ChatAppMessage" })

export type LinkOf = (key: string) => Promise<string>

export async function shownTextMessage(message: StoredMessage, linkOf: LinkOf): Promise<z.input<typeof TextMessage>> {
  const { id, direction, at, provider_id, kind, text, state, error } = message
  const media = message.media.map(async ({ source: _source, key, ...one }) => ({ ...one, url: key === "" ? "" : await linkOf(key) }))
  return { id, direction, at, provider_message_id: provider_id ?? "", kind, text, media: await Promise.all(media), state, error }
}

export async function shownChatAppMessage(message: StoredMessage, linkOf: LinkOf): Promise<z.input<typeof ChatAppMessage>> {
  const { profile_name, location, context, referral, reaction, template, content } = message
  return { ...(await shownTextMessage(message, linkOf)), profile_name, location, context, referral, reaction, template, content }
}
