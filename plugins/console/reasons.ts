// Error reasons of this plugin (`details.reason`).
import { defineReasons, type ReasonsOf } from "#core"

export const reasons = defineReasons({
  console_file_not_found: { code: "not_found", summary: "The console has no such file.", remedy: "Load the console again." },
  sign_in_malformed: {
    code: "invalid_argument",
    summary: "The body of the sign-in is not one of the documented forms.",
    remedy: "Send `key`, `email_code`, `link` or `code` as a text, in JSON.",
  },
})

declare global {
  interface MillraceReasons extends ReasonsOf<typeof reasons> {}
}
