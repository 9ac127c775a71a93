// What an operator sets of how events are found.
import { z } from "zod"

export const EventsSettings = z.strictObject({
  find_index: z
    .boolean()
    .default(true)
    .describe("Index what events say, so that they are found by any piece of it; without, the newest alone are searched."),
})
