// The stable words that this plugin's errors hold in `details.reason`.
import { defineReasons } from "#core"

export const reasons = defineReasons({
  channel_refused: { codes: ["invalid_argument"], summary: "Pipelines may not broadcast to this channel." },
  no_endpoint: { codes: ["failed_precondition"], summary: "The pipeline has no endpoint." },
})
