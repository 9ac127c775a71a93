// Deletes conversations with all their messages.
import { z } from "zod"
import { Clock, defineOperation, resultOf, timestamp, Uuid } from "#core"
import type { Channel } from "../channels.ts"
import { Removals } from "../removal/removals.ts"
import { Summaries } from "../summaries.ts"
import { begun, metaPayload, twilioPayload } from "./conversations.ts"

interface Deleted {
  readonly area: string
  readonly summary: string
  readonly path: string
  readonly channel: Channel
  readonly given: Parameters<typeof begun>
}

const deletion = ({ area, summary, path, channel, given }: Deleted) =>
  defineOperation({
    name: `${area}.delete`,
    summary,
    description:
      "At once for who reads; messages and files follow by a job. What the person writes later begins a new one. The opt-out ledger stays.",
    http: { method: "DELETE", path: `${path}/{session_id}` },
    access: { scope: "conversations:write", role: "admin" },
    hints: { readOnly: false, destructive: true, idempotent: true },
    input: z.strictObject({ session_id: Uuid }),
    output: z.object({ session_id: Uuid, deleted: z.literal(true) }),
    errors: ["not_found"],
    examples: [{ given: { ...begun(...given), list: `${area}.list` }, input: { session_id: resultOf("list.conversations.0.session_id") } }],
    inject: { summaries: Summaries, removals: Removals, clock: Clock },
    async handle({ input: { session_id }, caller, deps: { summaries, removals, clock }, work }) {
      const organization = caller.organization.id
      await summaries.require(organization, channel, session_id)
      removals.stage(work, organization, channel, session_id, timestamp(clock.now()))
      return { session_id, deleted: true as const }
    },
  })

export const deleteChatAppConversation = deletion({
  area: "chatapp_conversations",
  summary: "Delete a chat-app conversation with its messages and their files.",
  path: "/v1/voice/chatapp-conversations",
  channel: "chat_app",
  given: ["meta_whatsapp", metaPayload],
})

export const deleteTextConversation = deletion({
  area: "text_conversations",
  summary: "Delete a text-message conversation with its messages and their files.",
  path: "/v1/voice/text-conversations",
  channel: "sms",
  given: ["twilio", twilioPayload],
})
