// Values of `details.reason` in this plugin's errors.
import { defineReasons, FieldProblems, type ReasonsOf } from "#core"

export const reasons = defineReasons({
  lead_not_found: {
    code: "not_found",
    summary: "The organization has no such lead.",
    remedy: "List the leads; a lead is named by its UUID or its 22-character reference.",
  },
  lead_merge_refused: {
    code: "failed_precondition",
    summary: "The two are one lead already, or would have too many addresses and numbers together.",
    details: { fields: FieldProblems },
  },
  lead_split_refused: {
    code: "failed_precondition",
    summary: "What is to be split off is not the lead's, is all that it has, or is nothing.",
    details: { fields: FieldProblems },
  },
})

declare global {
  interface MillraceReasons extends ReasonsOf<typeof reasons> {}
}
