// The stable words that this plugin's errors hold in `details.reason`.
import { defineReasons } from "#core"

export const reasons = defineReasons({
  pipeline_not_found: { codes: ["failed_precondition"], summary: "There is no such pipeline." },
  not_internal: { codes: ["failed_precondition"], summary: "The target's `source_kind` is not `internal`." },
  target_failed: { codes: ["failed_precondition"], summary: "The event failed in the target pipeline." },
  target_rejected: { codes: ["failed_precondition"], summary: "The target pipeline rejected the event." },
})
