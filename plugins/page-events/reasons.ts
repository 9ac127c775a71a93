// The stable words that this plugin's errors hold in `details.reason`.
import { defineReasons } from "#core"

export const reasons = defineReasons({
  bot: { codes: ["permission_denied"], summary: "Events of bots are not counted." },
  invalid_event: {
    codes: ["invalid_argument"],
    summary: "The page event is not valid.",
    details: { fields: "Path and message of each field." },
  },
  malformed_batch: { codes: ["invalid_argument"], summary: "The batch of page events is not valid." },
  page_gone: { codes: ["failed_precondition"], summary: "The pipeline's page is gone." },
  page_analytics_off: {
    codes: ["failed_precondition"],
    summary: "The page's page-events pipeline is not active, so none of its rows is written.",
  },
  receipt_refused: { codes: ["failed_precondition"], summary: "The replay gets no receipt." },
  reserved_event: {
    codes: ["invalid_argument"],
    summary: "The event is created by the server and cannot be submitted.",
    details: { fields: "Path and message of each field." },
  },
  too_many_events: { codes: ["invalid_argument"], summary: "The batch has too many events." },
  unknown_event: {
    codes: ["invalid_argument"],
    summary: "The event is not in the page-event vocabulary.",
    details: { fields: "Path and message of each field." },
  },
})
