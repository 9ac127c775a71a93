// Removing conversations with all that was said in them.
import { z } from "zod"
import { Clock, defineOperation, resultOf, timestamp, Uuid } from "#core"
import { RemovalsToken } from "../removal/removals.ts"
import { SummariesToken } from "../summaries.ts"
import { begun, metaPayload, twilioPayload } from "./conversations.ts"

const description =
  "At once for who reads; messages and files follow by a job. What the person writes later begins a new one. The opt-out ledger stays."
const access = { scope: "conversations:write", role: "admin" } as const
const hints = { readOnly: false, destructive: true, idempotent: true } as const
const inject = { summaries: SummariesToken, removals: RemovalsToken, clock: Clock }
const input = z.strictObject({ session_id: Uuid })
const output = z.object({ session_id: Uuid, deleted: z.literal(true) })

export const deleteChatAppConversation = defineOperation({
  name: "chatapp_conversations.delete",
  summary: "Delete a chat-app conversation with its messages and their files.",
  description,
  http: { method: "DELETE", path: "/v1/voice/chatapp-conversations/{session_id}" },
  access,
  hints,
  input,
  output,
  errors: ["not_found"],
  examples: [
    {
      given: { ...begun("meta_whatsapp", metaPayload), list: "chatapp_conversations.list" },
      input: { session_id: resultOf("list.conversations.0.session_id") },
    },
  ],
  inject,
  async handle({ input: { session_id }, caller, deps: { summaries, removals, clock }, work }) {
    const organization = caller.organization.id
    await summaries.require(organization, "chat_app", session_id)
    removals.stage(work, organization, "chat_app", session_id, timestamp(clock.now()))
    return { session_id, deleted: true as const }
  },
})

export const deleteTextConversation = defineOperation({
  name: "text_conversations.delete",
  summary: "Delete a text-message conversation with its messages and their files.",
  description,
  http: { method: "DELETE", path: "/v1/voice/text-conversations/{session_id}" },
  access,
  hints,
  input,
  output,
  errors: ["not_found"],
  examples: [
    {
      given: { ...begun("twilio", twilioPayload), list: "text_conversations.list" },
      input: { session_id: resultOf("list.conversations.0.session_id") },
    },
  ],
  inject,
  async handle({ input: { session_id }, caller, deps: { summaries, removals, clock }, work }) {
    const organization = caller.organization.id
    await summaries.require(organization, "sms", session_id)
    removals.stage(work, organization, "sms", session_id, timestamp(clock.now()))
    return { session_id, deleted: true as const }
  },
})
