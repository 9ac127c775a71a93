// Type and payload of the job of this plugin, for the code that enqueues it.
import { z } from "zod"

export const bookLostRef = {
  type: "models.book_lost",
  payload: z.strictObject({ budget: z.string() }),
  retry: { max_attempts: 10_000, initial_delay_ms: 1_000, factor: 2, max_delay_ms: 60_000 },
} as const
