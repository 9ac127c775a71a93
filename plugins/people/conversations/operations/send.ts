// Operation: sends a message. All messages use this path.
import { z } from "zod"
import { AnyJson, AppError, Clock, defineOperation, resultOf, Timestamp, timestamp, Uuid } from "#core"
import { Integrations } from "../../../agents/integrations/index.ts"
import { channels } from "../channels.ts"
import { Outbox } from "../egress/outbox.ts"
import { PhoneNumbers } from "../numbers/phone-number.ts"
import { OptOutLinks } from "../opt-out/link.ts"
import { E164, isUserId, PersonAddress } from "../phone.ts"

/** Setup of an example: a number with connections for both channels. */
export const connectedNumber = (number: string) => ({
  connection: {
    operation: "integrations.connect",
    input: { app: "http", name: `Lines of ${number}`, share_with_org: true, credentials: { base_url: "https://messages.example.com" } },
  },
  number: {
    operation: "phone_numbers.register",
    input: {
      number,
      chat_app: {
        integration: resultOf("connection.integration_id"),
        phone_number_id: "106540352242922",
        business_account_id: "102290129340398",
      },
      sms: { integration: resultOf("connection.integration_id"), account_sid: "AC00000000000000000000000000000000" },
    },
  },
})

const Template = z
  .strictObject({
    name: z.string().regex(/^[a-z0-9_]{1,512}$/, "expected lower-case letters, digits and _"),
    language: z.string().regex(/^[A-Za-z]{2,3}(?:_[A-Za-z]{2,4})?$/, "expected a language such as en_US"),
    components: z.array(AnyJson).max(20).default([]).describe("As Meta's API takes them; texts in them may have `{{ opt_out_url }}`."),
  })
  .describe("An approved template of the chat app.")

export const sendToPerson = defineOperation({
  name: "conversations.send",
  summary: "Write to a person by chat app or text message.",
  description:
    "Refused where the person opted out of the channel, where another plugin forbids it, where the chat app's 24-hour window is closed and no approved template is given, and where the person has left too many unanswered. In quiet hours of the recipient's time zone it waits. Sent at most once; `state` of the message tells how far it is, and is `unknown` where the provider did not answer.",
  http: { method: "POST", path: "/v1/voice/messages" },
  access: { scope: "conversations:write", role: "member" },
  hints: { readOnly: false, destructive: false, idempotent: false },
  gate: {
    name: "conversations.send",
    risk: "high",
    summary: "Writing to a person by chat app or text message.",
    what: ({ channel, to, text, template }) =>
      `Write to ${to} by ${channel === "sms" ? "text message" : "chat app"}: ${template ? `the template ${template.name} (${template.language})` : `"${text}"`}.`,
    contents: ["text", "template"],
    async target({ channel, from }, { organization, deps }) {
      const { numbers, integrations } = deps as { numbers: PhoneNumbers; integrations: Integrations }
      const number = await numbers.find(organization, from)
      const line = number?.[channel] ?? null
      if (!number || !line) return { number: from, number_revision: number?.revision ?? null, connection: null }
      return { number: from, number_revision: number.revision, ...(await integrations.targetOf(organization, line.integration)) }
    },
    pending: ({ id }) => ({ state: "pending_approval" as const, approval_id: id, message_id: null, session_id: null, send_at: null }),
  },
  input: z.strictObject({
    channel: z.enum(channels),
    from: E164.describe("The service's own number."),
    to: PersonAddress.describe("The person's number. In the chat app also a user ID, of a person without one."),
    text: z
      .string()
      .max(4_096)
      .default("")
      .describe("What to say; at most 1,600 characters in a text message. `{{ opt_out_url }}` is the link by which the person opts out."),
    template: Template.optional(),
    quiet_hours: z.enum(["wait", "refuse"]).default("wait").describe("What happens in quiet hours of the recipient."),
  }),
  output: z.object({
    state: z.enum(["queued", "pending_approval"]),
    approval_id: Uuid.nullable().describe("What a person has to decide, where the organization asks for approval."),
    message_id: Uuid.nullable(),
    session_id: Uuid.nullable().describe("Of the conversation."),
    send_at: Timestamp.nullable().describe("Not before then."),
  }),
  errors: ["invalid_argument", "not_found", "failed_precondition", "resource_exhausted"],
  examples: [
    {
      given: connectedNumber("+493012345677"),
      input: { channel: "sms", from: resultOf("number.number"), to: "+493098765432", text: "Your table is ready." },
    },
  ],
  inject: { outbox: Outbox, links: OptOutLinks, clock: Clock, numbers: PhoneNumbers, integrations: Integrations },
  async handle({ input: { quiet_hours, text, template, ...given }, caller, deps, work, callId }) {
    if ((text.trim() === "") === (template === undefined)) throw fieldRefused("text", "give text or a template, one of them")
    if (given.channel === "sms" && isUserId(given.to))
      throw fieldRefused("to", "must be a phone number, since a user ID is of the chat app only")
    if (given.channel === "sms" && template) throw fieldRefused("template", "is of the chat app only")
    const organization = caller.organization.id
    const link = { organization, channel: given.channel, address: given.to, messageId: callId }
    const content = await deps.links.fill({ text: text.toWellFormed(), template: template ?? null }, link)
    const most = given.channel === "sms" ? 1_600 : 4_096
    if (content.text.length > most) throw fieldRefused("text", `has more than ${most.toLocaleString("en")} characters`)
    const { message, sendAt } = await deps.outbox.accept(work, organization, { ...given, id: callId, ...content })
    if (quiet_hours === "refuse" && sendAt > deps.clock.now())
      throw new AppError("failed_precondition", `It is quiet where ${given.to} is until ${timestamp(sendAt)}.`, {
        reason: "quiet_hours",
        until: timestamp(sendAt),
      })
    const { id, conversation_id } = message
    return { state: "queued" as const, approval_id: null, message_id: id, session_id: conversation_id, send_at: timestamp(sendAt) }
  },
})

function fieldRefused(path: string, message: string): AppError {
  return new AppError("invalid_argument", `${path} ${message}.`, { reason: "invalid_fields", fields: [{ path, message }] })
}
