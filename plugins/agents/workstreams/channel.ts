// The live channel of each workstream.
import { defineChannel } from "#core"

export const workstreamsChannel = defineChannel({
  name: "workstreams:*",
  scope: "workstreams:read",
  summary: "What happens in a workstream, by its slug.",
})
