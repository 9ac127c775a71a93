// The live channel of heartbeats.
import { defineChannel } from "#core"

export const heartbeatsChannel = defineChannel({
  name: "heartbeats",
  scope: "heartbeats:read",
  summary: "Runs of heartbeats as they end, and heartbeats that were paused since they kept failing.",
})
