// The stable words that this plugin's errors hold in `details.reason`.
import { defineReasons } from "#core"

export const reasons = defineReasons({
  location_refused: { codes: ["invalid_argument"], summary: "The redirect's target is not allowed." },
})
