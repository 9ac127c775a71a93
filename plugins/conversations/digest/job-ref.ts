// The job that closes an idle conversation, for those who stage it.
import { z } from "zod"
import { channels } from "../channels.ts"

export const closeJob = { type: "conversations.close", payload: z.object({ channel: z.enum(channels), conversation_id: z.string() }) }
