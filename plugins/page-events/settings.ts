// What an operator can set about page events.
import { z } from "zod"

export const PageEventSettings = z.strictObject({
  address_per_minute: z
    .int()
    .min(1)
    .default(1_200)
    .describe("Requests with events that one address may send to one organization's pages a minute; a beacon sends one a second at most."),
  organization_per_minute: z
    .int()
    .min(1)
    .default(120_000)
    .describe("Requests with events that one organization's pages may send a minute, from all addresses together."),
})
export type PageEventSettings = z.output<typeof PageEventSettings>
