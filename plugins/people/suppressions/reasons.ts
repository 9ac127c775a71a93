// Values of `details.reason` in this plugin's errors.
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
