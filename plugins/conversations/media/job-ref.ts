// The job that fetches a message's files, for those who stage it.
import { z } from "zod"
import { channels } from "../channels.ts"

export const mediaJob = { type: "conversations.media", payload: z.object({ channel: z.enum(channels), message_id: z.string() }) }
