// The job that sends a message, for those who stage it.
import { z } from "zod"
import { channels } from "../channels.ts"

export const sendJob = { type: "conversations.send", payload: z.object({ channel: z.enum(channels), message_id: z.string() }) }
