// The jobs that bring conversations and sent messages up to date, for those who stage them.
import { z } from "zod"
import { channels } from "./channels.ts"

const channel = z.enum(channels)

export const foldJob = {
  type: "conversations.fold",
  payload: z.object({
    channel,
    conversation_id: z.string(),
    /** Between which numbers it is; with them a conversation is made again that was removed while a message came. */
    ends: z.object({ number: z.string(), address: z.string() }).optional(),
    /** A message to the person, who may have been erased while it was accepted. */
    sent: z.string().optional(),
  }),
}

export const settleJob = {
  type: "conversations.settle",
  payload: z.object({ channel, provider_id: z.string(), message_id: z.string().nullable() }),
}
