// The live channel of replay plans.
import { defineChannel } from "#core"

export const replayPlansChannel = defineChannel({
  name: "replay-plans",
  summary: "How far each replay plan is, with each of its commits.",
})
