// What enqueueing needs of the job.
import { z } from "zod"

export const replayRef = { type: "events.replay_plan", payload: z.object({ plan: z.string() }) }
