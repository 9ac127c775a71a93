// What an operator sets of event pipelines.
import { z } from "zod"
import { token } from "#core"

export const Settings = z.strictObject({
  client_addresses: z
    .enum(["full", "network", "none"])
    .default("network")
    .describe(
      "What of client addresses is kept as evidence of the use of secrets: the whole address, the network that it is in (/24, /64), or nothing.",
    ),
})

export type ShownAddresses = z.output<typeof Settings>["client_addresses"]

/** The setting, for the plugin that counts events. */
export const ClientAddresses = token<ShownAddresses>("ClientAddresses")
