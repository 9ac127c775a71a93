// Error reasons of this plugin: stable words in `details.reason`.
import { defineReasons, type ReasonsOf } from "#core"

export const reasons = defineReasons({
  drift_not_found: {
    code: "not_found",
    summary: "The schema drift of the pipeline has no such difference.",
    remedy: "Read the drift again.",
  },
  nothing_to_patch: {
    code: "failed_precondition",
    summary: "No change of the schema takes in the pipeline's drift.",
    remedy: "Read the drift; its executions hold the events.",
  },
})

declare global {
  interface MillraceReasons extends ReasonsOf<typeof reasons> {}
}
