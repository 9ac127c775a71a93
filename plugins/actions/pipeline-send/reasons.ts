// The stable words that this plugin's errors hold in `details.reason`.
import { defineReasons } from "#core"

export const reasons = defineReasons({
  no_such_pipeline: { codes: ["failed_precondition"], summary: "There is no such pipeline." },
  not_internal: { codes: ["failed_precondition"], summary: "The target takes its events from outside." },
  target_failed: { codes: ["failed_precondition"], summary: "The event failed in the other pipeline." },
  target_rejected: { codes: ["failed_precondition"], summary: "The other pipeline rejected the event." },
})
