// Error reasons of this plugin: stable words in `details.reason`.
import { defineReasons, type ReasonsOf } from "#core"

export const reasons = defineReasons({
  pipeline_not_found: { code: "failed_precondition", summary: "The pipeline does not exist.", remedy: "Check the slug." },
  not_internal: {
    code: "failed_precondition",
    summary: "The target's `source_kind` is not `internal`.",
    remedy: "Send to a pipeline whose `source_kind` is `internal`.",
  },
  target_failed: {
    code: "failed_precondition",
    summary: "The event failed in the target pipeline.",
    remedy: "Look at the target's execution.",
  },
  target_rejected: {
    code: "failed_precondition",
    summary: "The target pipeline rejected the event.",
    remedy: "Look at the target's execution.",
  },
})

declare global {
  interface MillraceReasons extends ReasonsOf<typeof reasons> {}
}
