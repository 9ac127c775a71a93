// Operations to list and read conversations. Chat app and text messages are separate resources.
import { z } from "zod"
import { Clock, defineOperation, pageInput, resultOf, Uuid } from "#core"
import { Buckets } from "../../../data/buckets/index.ts"
import { Summaries } from "../summaries.ts"
import {
  ChatAppConversation,
  ChatAppMessage,
  listInput,
  shownChatApp,
  shownChatAppMessage,
  shownText,
  shownTextMessage,
  TextConversation,
  TextMessage,
} from "./conversation-resource.ts"

const access = { scope: "conversations:read", role: "member" } as const
const hints = { readOnly: true, destructive: false, idempotent: true } as const
const columns = ["address", "phone_number", "message_count", "last_inbound_at", "suppressed", "summary", "session_id"]
const linkMs = 3_600_000

const getInput = z.strictObject({ session_id: Uuid, ...pageInput })

/** Setup of an example: a pipeline for the provider's webhooks, and an event with a message. */
export const begun = (provider: string, payload: object) => ({
  pipeline: {
    operation: "event_pipelines.create",
    input: { name: `From ${provider}`, state: "active", source_kind: "internal", pipeline: [{ type: "conversation.receive", provider }] },
  },
  event: { operation: "event_pipelines.send_event", input: { slug: resultOf("pipeline.slug"), payload } },
})
export const metaPayload = {
  object: "whatsapp_business_account",
  entry: [
    {
      id: "102290129340398",
      changes: [
        {
          field: "messages",
          value: {
            metadata: { display_phone_number: "493012345678", phone_number_id: "106540352242922" },
            contacts: [{ profile: { name: "Ada" }, wa_id: "493098765432" }],
            messages: [{ from: "493098765432", id: "wamid.1", timestamp: "1780000000", type: "text", text: { body: "Hello" } }],
          },
        },
      ],
    },
  ],
}
export const twilioPayload = {
  MessageSid: "SM1",
  From: "+493098765432",
  To: "+493012345678",
  Body: "Hello",
  NumMedia: "0",
  SmsStatus: "received",
}

export const listChatAppConversations = defineOperation({
  name: "chatapp_conversations.list",
  summary: "List chat-app conversations, most recently active first.",
  description: "Who, when, how much, and whether the person opted out; never what was said.",
  http: { method: "GET", path: "/v1/voice/chatapp-conversations" },
  access,
  hints,
  mcp: { listed: true },
  columns,
  input: z.strictObject(listInput),
  output: z.object({ conversations: z.array(ChatAppConversation), next_cursor: z.string() }),
  errors: ["invalid_argument"],
  inject: { summaries: Summaries },
  async handle({ input, caller, deps }) {
    const { conversations, next_cursor } = await deps.summaries.page(caller.organization.id, "chat_app", input)
    return { conversations: conversations.map(shownChatApp), next_cursor }
  },
})

export const getChatAppConversation = defineOperation({
  name: "chatapp_conversations.get",
  summary: "Read a chat-app conversation with its messages, newest first.",
  http: { method: "GET", path: "/v1/voice/chatapp-conversations/{session_id}" },
  access,
  hints,
  input: getInput,
  output: z.object({ conversation: ChatAppConversation, messages: z.array(ChatAppMessage), next_cursor: z.string() }),
  errors: ["invalid_argument", "not_found"],
  examples: [
    {
      given: { ...begun("meta_whatsapp", metaPayload), list: "chatapp_conversations.list" },
      input: { session_id: resultOf("list.conversations.0.session_id") },
    },
  ],
  inject: { summaries: Summaries, buckets: Buckets, clock: Clock },
  async handle({ input: { session_id, ...request }, caller, deps: { summaries, buckets, clock } }) {
    const organization = caller.organization.id
    const read = await summaries.require(organization, "chat_app", session_id)
    const { items, next_cursor } = await summaries.messages(organization, "chat_app", session_id, request)
    const linkOf = (key: string) => buckets.open(organization).signedUrl(key, clock.now() + linkMs)
    const messages = await Promise.all(items.map((message) => shownChatAppMessage(message, linkOf)))
    return { conversation: shownChatApp(read), messages, next_cursor }
  },
})

export const listTextConversations = defineOperation({
  name: "text_conversations.list",
  summary: "List text-message conversations, most recently active first.",
  description: "Apart from those of the chat app, with messages and an opt-out ledger of their own.",
  http: { method: "GET", path: "/v1/voice/text-conversations" },
  access,
  hints,
  columns,
  input: z.strictObject(listInput),
  output: z.object({ conversations: z.array(TextConversation), next_cursor: z.string() }),
  errors: ["invalid_argument"],
  inject: { summaries: Summaries },
  async handle({ input, caller, deps }) {
    const { conversations, next_cursor } = await deps.summaries.page(caller.organization.id, "sms", input)
    return { conversations: conversations.map(shownText), next_cursor }
  },
})

export const getTextConversation = defineOperation({
  name: "text_conversations.get",
  summary: "Read a text-message conversation with its messages, newest first.",
  http: { method: "GET", path: "/v1/voice/text-conversations/{session_id}" },
  access,
  hints,
  input: getInput,
  output: z.object({ conversation: TextConversation, messages: z.array(TextMessage), next_cursor: z.string() }),
  errors: ["invalid_argument", "not_found"],
  examples: [
    {
      given: { ...begun("twilio", twilioPayload), list: "text_conversations.list" },
      input: { session_id: resultOf("list.conversations.0.session_id") },
    },
  ],
  inject: { summaries: Summaries, buckets: Buckets, clock: Clock },
  async handle({ input: { session_id, ...request }, caller, deps: { summaries, buckets, clock } }) {
    const organization = caller.organization.id
    const read = await summaries.require(organization, "sms", session_id)
    const { items, next_cursor } = await summaries.messages(organization, "sms", session_id, request)
    const linkOf = (key: string) => buckets.open(organization).signedUrl(key, clock.now() + linkMs)
    const messages = await Promise.all(items.map((message) => shownTextMessage(message, linkOf)))
    return { conversation: shownText(read), messages, next_cursor }
  },
})
