// Values of `details.reason` in this plugin's errors.
import { defineReasons, FieldProblems, type ReasonsOf } from "#core"

export const reasons = defineReasons({
  invalid_address: { code: "invalid_argument", summary: "An address is malformed.", details: { fields: FieldProblems } },
  mail_failed: { code: "unavailable", summary: "The mail server could not be reached, or failed." },
  mail_unconfirmed: {
    code: "deadline_exceeded",
    summary: "The mail server was handed the whole message and did not say what became of it; it may have been delivered.",
    remedy: "See whether it arrived. If not, retry the job: the message keeps its id.",
  },
  mail_refused: { code: "failed_precondition", summary: "The mail server refused the mail.", remedy: "See what the mail server said." },
  recipients_refused: { code: "invalid_argument", summary: "The recipients are not valid." },
})

declare global {
  interface MillraceReasons extends ReasonsOf<typeof reasons> {}
}
