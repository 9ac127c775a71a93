// What an operator sets of event pipelines.
import { z } from "zod"

export const Settings = z.strictObject({
  client_addresses: z
    .enum(["full", "network", "none"])
    .default("network")
    .describe(
      "What of client addresses is kept as evidence of the use of secrets: the whole address, the network that it is in (/24, /64), or nothing.",
    ),
})
