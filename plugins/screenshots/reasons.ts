// The stable words that this plugin's errors hold in `details.reason`.
import { defineReasons } from "#core"

export const reasons = defineReasons({
  queue_full: { codes: ["resource_exhausted"], summary: "Too many screenshots are waiting." },
  read_only: { codes: ["failed_precondition"], summary: "Pages may not send data while they are rendered." },
})
