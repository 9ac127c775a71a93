// Values of `details.reason` in this plugin's errors.
import { z } from "zod"
import { defineReasons, FieldProblems, type ReasonsOf } from "#core"
import { PhoneNumberResource } from "./numbers/phone-number.ts"

export const reasons = defineReasons({
  not_a_delivery: {
    code: "invalid_argument",
    summary: "The event is not a webhook of the provider that `conversation.receive` names.",
    remedy: "Leave the event as it was sent, or name the provider that sent it.",
  },
  conversation_not_found: { code: "not_found", summary: "The organization has no such conversation.", remedy: "List the conversations." },
  ...PhoneNumberResource.reasons,
  phone_number_registered: { code: "already_exists", summary: "The organization has registered this phone number already." },
  number_connection_missing: {
    code: "invalid_argument",
    summary: "A phone number names an integration that is not connected for the organization.",
    remedy: "Connect it with share_with_org.",
    details: { fields: FieldProblems },
  },
  channel_not_connected: {
    code: "failed_precondition",
    summary: "The number has no connection for this channel.",
    remedy: "Give it one.",
  },
  connection_of_number: {
    code: "failed_precondition",
    summary: "Messages of a phone number leave through the connection, so that everything else only reads through it.",
    remedy: "Send by POST /v1/voice/messages.",
  },
  recipient_opted_out: {
    code: "failed_precondition",
    summary: "The person has opted out of this channel.",
    remedy: "Only the person can opt in again, by a message such as START.",
  },
  send_vetoed: {
    code: "failed_precondition",
    summary: "A plugin forbids writing to this person.",
    details: { by: z.string().describe("Who forbids it.") },
  },
  window_closed: {
    code: "failed_precondition",
    summary: "The person has not written in the last 24 hours, so that the chat app takes templates only.",
    remedy: "Send an approved template.",
  },
  template_not_approved: {
    code: "failed_precondition",
    summary: "The template is not one that Meta approved, as far as is known.",
    remedy: "Read the templates again.",
    details: { status: z.string().describe("As Meta last told; empty where it is not known.") },
  },
  recipient_limit: {
    code: "resource_exhausted",
    summary: "The person was sent as many messages as may be left unanswered in a day.",
    remedy: "Wait for an answer, or a day.",
    details: { limit: z.int().describe("Messages in 24 hours.") },
  },
  quiet_hours: {
    code: "failed_precondition",
    summary: "It is quiet hours where the person is.",
    remedy: "Send it later, or let it wait.",
    details: { until: z.string().describe("RFC 3339.") },
  },
  no_business_account: {
    code: "failed_precondition",
    summary: "The number names no WhatsApp business account, by which templates are read.",
    remedy: "Give its `chat_app` a `business_account_id`.",
  },
})

declare global {
  interface MillraceReasons extends ReasonsOf<typeof reasons> {}
}
