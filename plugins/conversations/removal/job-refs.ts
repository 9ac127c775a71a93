// The job that removes messages, for those who stage it.
import { z } from "zod"
import { channels } from "../channels.ts"

export const purgeJob = {
  type: "conversations.purge",
  payload: z.object({ channel: z.enum(channels), conversation_id: z.string(), until: z.string() }),
}
