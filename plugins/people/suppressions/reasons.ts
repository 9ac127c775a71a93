// The stable words that this plugin's errors hold in `details.reason`.
import { defineReasons, type ReasonsOf } from "#core"

export const reasons = defineReasons({
  suppression_not_found: {
    code: "not_found",
    summary: "The organization's suppression list has no such entry.",
    remedy: "List the suppressions; `address` finds those of an address.",
  },
})

declare global {
  interface MillraceReasons extends ReasonsOf<typeof reasons> {}
}
