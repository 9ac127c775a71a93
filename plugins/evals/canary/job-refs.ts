// What the jobs of the canary are called and take, for those that schedule and enqueue them.
import { z } from "zod"

/** Tried once: the next minute brings another. */
const once = { max_attempts: 1, initial_delay_ms: 1_000, factor: 1, max_delay_ms: 1_000 }

export const watchRef = { type: "evals.watch_widget", payload: z.strictObject({}), retry: once } as const

export const checkRef = {
  type: "evals.check_widget",
  payload: z.strictObject({ check_id: z.string(), screenshot_id: z.string() }),
  retry: { ...once, max_attempts: 3 },
} as const
