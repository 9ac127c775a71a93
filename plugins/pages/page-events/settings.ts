// What an operator can set about page events.
import { z } from "zod"

export const PageEventSettings = z.strictObject({
  address_per_minute: z
    .int()
    .min(1)
    .default(1_200)
    .describe("Requests with events allowed per client IP and organization per minute; a beacon sends at most one per second."),
  organization_per_minute: z.int().min(1).default(120_000).describe("Requests with events allowed per organization per minute."),
})
export type PageEventSettings = z.output<typeof PageEventSettings>
