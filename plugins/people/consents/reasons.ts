// Values of `details.reason` in this plugin's errors.
import { defineReasons, type ReasonsOf } from "#core"

export const reasons = defineReasons({
  person_erased: {
    code: "failed_precondition",
    summary: "The person was erased, and no data about them may be stored or sent.",
    remedy: "Where they gave consent after that, record it with after_erasure.",
  },
  person_erased_already: {
    code: "failed_precondition",
    summary: "The person was erased before.",
  },
})

declare global {
  interface MillraceReasons extends ReasonsOf<typeof reasons> {}
}
