// Values of `details.reason` in errors of this plugin.
import { z } from "zod"
import { defineReasons, type ReasonsOf } from "#core"

export const reasons = defineReasons({
  queue_full: {
    code: "resource_exhausted",
    summary: "Too many screenshots are waiting.",
    remedy: "Retry after `Retry-After`.",
    details: { max: z.int().describe("How many may wait.") },
  },
  read_only: {
    code: "failed_precondition",
    summary: "Pages may not send data while they are rendered.",
    remedy: "None: pages are only looked at while they are rendered.",
  },
  screenshot_not_found: { code: "not_found", summary: "The screenshot job does not exist.", remedy: "Start a screenshot first." },
})

declare global {
  interface MillraceReasons extends ReasonsOf<typeof reasons> {}
}
