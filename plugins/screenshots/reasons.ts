// The stable words that this plugin's errors hold in `details.reason`.
import { defineReasons } from "#core"

export const reasons = defineReasons({
  page_too_large: { codes: ["resource_exhausted"], summary: "The page loads more data than is allowed." },
  queue_full: { codes: ["resource_exhausted"], summary: "Too many screenshots are waiting." },
  read_only: { codes: ["failed_precondition"], summary: "Pages may not send data while they are rendered." },
  screenshot_not_found: { codes: ["not_found"], summary: "There is no such screenshot job." },
})
