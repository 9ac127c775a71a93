// What enqueueing needs of the jobs.
import { z } from "zod"

export const registerRef = {
  type: "voice.register_caller_name",
  payload: z.object({ organization: z.string(), registration_id: z.string() }),
  timeoutMs: 300_000,
}
