// The live channel of caller names.
import { defineChannel } from "#core"

export const voiceChannel = defineChannel({
  name: "voice",
  scope: "voice:read",
  summary: "Registrations of caller names whose status changes.",
})
