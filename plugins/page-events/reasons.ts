// The stable words that this plugin's errors hold in `details.reason`.
import { defineReasons } from "#core"

export const reasons = defineReasons({
  bot: { codes: ["permission_denied"], summary: "Events of bots are not counted." },
  invalid_event: {
    codes: ["invalid_argument"],
    summary: "The page event is not as it should be.",
    details: { fields: "Path and message of each." },
  },
  malformed_batch: { codes: ["invalid_argument"], summary: "The batch of page events is not one." },
  page_gone: { codes: ["failed_precondition"], summary: "The pipeline's page is gone." },
  receipt_refused: { codes: ["failed_precondition"], summary: "No receipt is given for the replay." },
  reserved_event: {
    codes: ["invalid_argument"],
    summary: "The event is made by the server and cannot be submitted.",
    details: { fields: "Path and message of each." },
  },
  too_many_events: { codes: ["invalid_argument"], summary: "The batch has too many events." },
  unknown_event: {
    codes: ["invalid_argument"],
    summary: "There is no page event of this name.",
    details: { fields: "Path and message of each." },
  },
})
