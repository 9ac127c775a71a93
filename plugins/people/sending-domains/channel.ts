// The live channel of sending domains.
import { defineChannel } from "#core"

export const sendingDomainsChannel = defineChannel({
  name: "sending_domains",
  scope: "sending_domains:read",
  summary: "Sending domains whose status changes.",
})
