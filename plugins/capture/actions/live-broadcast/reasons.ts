// Error reasons of this plugin: stable words in `details.reason`.
import { defineReasons, type ReasonsOf } from "#core"

export const reasons = defineReasons({
  channel_refused: { code: "invalid_argument", summary: "Pipelines may not broadcast to this channel." },
  no_endpoint: { code: "failed_precondition", summary: "The pipeline has no endpoint.", remedy: "Activate the pipeline." },
})

declare global {
  interface MillraceReasons extends ReasonsOf<typeof reasons> {}
}
