// The live channel of replay plans.
import { defineChannel } from "#core"

export const replayPlansChannel = defineChannel({
  name: "replay-plans",
  scope: "replay_plans:read",
  summary: "How far each replay plan is, with each of its commits.",
})
