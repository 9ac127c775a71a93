// What an operator sets: how long temporary failures are put up with.
import { z } from "zod"

export const Settings = z.strictObject({
  soft_bounces: z
    .int()
    .min(1)
    .max(100)
    .default(5)
    .describe("Messages to an address that bounce within 30 days, after which it is taken for dead."),
  soft_bounce_days: z.int().min(1).max(30).default(3).describe("Days on which they must have bounced."),
})
export type Settings = z.output<typeof Settings>
