// The stable words that this plugin's errors hold in `details.reason`.
import { defineReasons, FieldProblems, type ReasonsOf } from "#core"

export const reasons = defineReasons({
  not_a_delivery: {
    code: "invalid_argument",
    summary: "The event is not a webhook of the provider that `conversation.receive` names.",
    remedy: "Leave the event as it was sent, or name the provider that sent it.",
  },
  conversation_not_found: { code: "not_found", summary: "The organization has no such conversation.", remedy: "List the conversations." },
  phone_number_not_found: {
    code: "not_found",
    summary: "The organization has not registered this phone number.",
    remedy: "List the phone numbers.",
  },
  phone_number_registered: { code: "already_exists", summary: "The organization has registered this phone number already." },
  number_connection_missing: {
    code: "invalid_argument",
    summary: "A phone number names an integration that is not connected for the organization.",
    remedy: "Connect it with share_with_org.",
    details: { fields: FieldProblems },
  },
})

declare global {
  interface MillraceReasons extends ReasonsOf<typeof reasons> {}
}
