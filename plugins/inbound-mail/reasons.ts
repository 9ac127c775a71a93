// The stable words that this plugin's errors hold in `details.reason`.
import { defineReasons, type ReasonsOf } from "#core"

export const reasons = defineReasons({
  email_conversation_not_found: {
    code: "not_found",
    summary: "The organization has no conversation by mail of this id.",
    remedy: "List the conversations.",
  },
})

declare global {
  interface MillraceReasons extends ReasonsOf<typeof reasons> {}
}
