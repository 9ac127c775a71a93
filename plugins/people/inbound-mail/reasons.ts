// Values of `details.reason` in this plugin's errors.
import { defineReasons, type ReasonsOf } from "#core"

export const reasons = defineReasons({
  email_file_not_found: {
    code: "not_found",
    summary: "The file of the message is not kept any more.",
  },
  email_files_busy: {
    code: "unavailable",
    summary: "Too many files of messages are read at once.",
    remedy: "Try again in a moment.",
  },
  email_message_not_found: {
    code: "not_found",
    summary: "The conversation has no message of this id.",
    remedy: "Read the conversation.",
  },
  email_conversation_not_found: {
    code: "not_found",
    summary: "The organization has no conversation by mail of this id.",
    remedy: "List the conversations.",
  },
})

declare global {
  interface MillraceReasons extends ReasonsOf<typeof reasons> {}
}
