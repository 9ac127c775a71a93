// The stable words that this plugin's errors hold in `details.reason`.
import { defineReasons } from "#core"

export const reasons = defineReasons({
  queue_full: { codes: ["resource_exhausted"], summary: "Too many screenshots wait." },
  reads_only: { codes: ["failed_precondition"], summary: "A page that is rendered may only read." },
})
