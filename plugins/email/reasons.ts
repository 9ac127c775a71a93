// The stable words that this plugin's errors hold in `details.reason`.
import { defineReasons } from "#core"

export const reasons = defineReasons({
  address_refused: { codes: ["failed_precondition", "invalid_argument"], summary: "An address is malformed or not allowed." },
  timeout: { codes: ["deadline_exceeded"], summary: "The deadline passed." },
  mail_failed: { codes: ["unavailable"], summary: "The mail server could not be reached, or failed." },
  mail_refused: { codes: ["failed_precondition"], summary: "The mail server refused the mail." },
  recipients_refused: { codes: ["invalid_argument"], summary: "The recipients are not valid." },
})
