// The stable words that this plugin's errors hold in `details.reason`.
import { defineReasons } from "#core"

export const reasons = defineReasons({
  event_is_no_object: { codes: ["invalid_argument"], summary: "The event is a list or a plain value, and no row was given." },
})
