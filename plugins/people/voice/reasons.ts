// Values of `details.reason` in this plugin's errors.
import { defineReasons, FieldProblems, type ReasonsOf } from "#core"

export const reasons = defineReasons({
  caller_name_refused: {
    code: "invalid_argument",
    summary: "Carriers do not take the caller name: its length, its characters, or a reserved word.",
    remedy: "Choose another by PUT /v1/voice/caller-name.",
    details: { fields: FieldProblems },
  },
  caller_number_refused: {
    code: "invalid_argument",
    summary: "No caller name is registered for the number: it is malformed, toll-free, or not of the United States.",
    details: { fields: FieldProblems },
  },
  caller_name_not_set: {
    code: "failed_precondition",
    summary: "The number and the email address of a caller name are not set.",
    remedy: "Set them by PUT /v1/voice/caller-name.",
  },
  caller_name_in_progress: {
    code: "failed_precondition",
    summary: "Another caller name is being registered.",
    remedy: "Decide its approval, or wait until it is `active` or `rejected`.",
  },
  twilio_not_connected: {
    code: "failed_precondition",
    summary: "The organization shares no Twilio integration of that name.",
    remedy: "Connect one by integrations.connect with app twilio and share_with_org.",
  },
})

declare global {
  interface MillraceReasons extends ReasonsOf<typeof reasons> {}
}
