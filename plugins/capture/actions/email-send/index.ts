// The action type email.send.
import { z } from "zod"
import { defineAction, definePlugin, type Json, type LintRule, type Rendered, template, templateJson, templateRecord } from "#core"
import {
  buttonUrl,
  domainOf,
  isMailAddress,
  MailAddressList,
  type MailContent,
  Mailer,
  OneMailAddress,
  parseAddresses,
  renderMail,
  Senders,
} from "../../../people/email/index.ts"

/** Lint rules of email.send, in addition to its schema. */
const emailSendRules = {
  "marketing-recipients": {
    level: "error",
    summary: "A marketing message with several recipients.",
    why: "Its unsubscribe link is that of one recipient; the others would unsubscribe that one, or could not unsubscribe at all.",
    remedy: "Send it to one address, in `for_each` where there are several, or make it transactional.",
    bad: 'pipeline:\n  - { type: email.send, category: marketing, to: "{{ event.email }}", bcc: team@example.com, heading: News }',
    good: 'pipeline:\n  - { type: email.send, category: marketing, to: "{{ event.email }}", heading: News }',
  },
} as const satisfies Record<string, LintRule>

const Text = z.union([z.string().max(20_000), z.number(), z.boolean(), z.null()])

/** Fixed text may be a list. A template renders one address, because an event must not add recipients. */
const Recipients = z.union([
  MailAddressList.refine((text) => !/\{\{|\{%/.test(text)),
  template(OneMailAddress),
  z.array(template(OneMailAddress)).min(1).max(50),
])

const config = z.strictObject({
  to: Recipients.describe("Recipients: an address, addresses separated by commas, or a list. A template gives one address."),
  cc: Recipients.optional().describe("Recipients of a copy, likewise."),
  bcc: Recipients.optional().describe("Recipients of a blind copy, likewise."),
  reply_to: template(z.string().max(500).nullable())
    .optional()
    .describe("Reply-To address. Omitted when it does not render to an address."),
  category: z
    .enum(["transactional", "marketing"])
    .optional()
    .describe(
      "`transactional` (the default): what somebody asked for or must know. `marketing`: to one recipient, who can unsubscribe by one click, and who gets nothing of it afterwards.",
    ),
  subject: template(Text).optional().describe("Subject; the heading when absent or empty."),
  heading: template(Text).describe("Heading of the message."),
  intro: template(Text).optional().describe("A paragraph below the heading."),
  fields: z
    .union([z.array(z.strictObject({ label: z.string().min(1).max(200), value: templateJson() })).max(100), templateRecord()])
    .optional()
    .describe("Label and value rows: an object, or a list of { label, value }. Addresses and links in values become clickable."),
  button: z
    .strictObject({
      label: template(Text).describe("Text of the button."),
      url: template(z.string().max(2_048).nullable()).describe("http(s) URL."),
    })
    .optional()
    .describe("A button that links to a page. Omitted when its url does not render to an http(s) URL."),
})
type Config = Rendered<z.output<typeof config>>

/**
 * Sends a message in the service's standard layout. The pipeline supplies the content only. The Mailer renders the layout,
 * prevents injected markup and headers, and makes a retry the same message.
 */
export const emailSend = defineAction({
  type: "email.send",
  summary: "Send an email in the standard layout.",
  description:
    "Content only: heading, intro, fields as label/value rows and a button. The service renders it, with a plain-text alternative. A retry carries the same Message-ID; a message that the mail server was handed whole and did not confirm is not retried by itself.",
  timing: "deferred",
  idempotency: "idempotency_key",
  config,
  result: z.object({
    message_id: z.string().nullable().describe("null where the send was skipped."),
    skipped: z.literal("suppressed").nullable().describe("Why nothing was sent: every recipient is on the suppression list."),
    accepted: z.array(z.string()),
    rejected: z.array(z.string()).describe("Recipients that the mail server refused while it accepted others."),
    suppressed: z
      .array(z.object({ address: z.string(), reason: z.string() }))
      .describe("Recipients on the suppression list, who were not written to, and why."),
    omitted: z.array(z.string()).describe("Fields omitted because their rendered value is not valid: `reply_to`, `button`."),
  }),
  examples: [
    {
      title: "Tell sales about a lead",
      yaml: `type: email.send
to: sales@acme.test
reply_to: "{{ event.email }}"
heading: New lead from {{ event.name }}
fields: { Name: "{{ event.name }}", Email: "{{ event.email }}" }
button: { label: Open the page, url: "{{ envelope.page_url }}" }`,
    },
    {
      title: "Thank the visitor, with a copy to two colleagues",
      yaml: `type: email.send
to: "{{ event.email }}"
bcc: [ada@acme.test, grace@acme.test]
subject: We have your message
heading: Thank you, {{ event.name }}
intro: We answer within a day.`,
    },
    {
      title: "News for a subscriber, who can unsubscribe by one click",
      yaml: `type: email.send
category: marketing
to: "{{ event.email }}"
heading: What is new in May
button: { label: Read it, url: "https://acme.test/news" }`,
    },
  ],
  rules: emailSendRules,
  lint: ({ category, to, cc, bcc }) =>
    category === "marketing" && (cc !== undefined || bcc !== undefined || Array.isArray(to) || (typeof to === "string" && to.includes(",")))
      ? [{ rule: "marketing-recipients", level: "error", message: marketingMessage, field: "category" }]
      : [],
  contents: ["subject", "heading", "intro", "fields", "button"],
  inject: { mailer: Mailer, senders: Senders },
  async run({ config, context, deps, work }) {
    const { reply_to, content, omitted } = messageOf(config)
    if (omitted.length > 0)
      context.log.warn({ step: context.stepId, omitted }, "email.send omitted fields whose rendered value is not valid")
    const receipt = await deps.mailer.send({
      ...content,
      organization: context.organization.id,
      to: config.to,
      cc: config.cc,
      bcc: config.bcc,
      reply_to,
      ...(config.category && { category: config.category }),
      idempotencyKey: context.idempotencyKey,
      at: context.receivedAt,
      signal: context.signal,
      work,
    })
    const { message_id, accepted, rejected, suppressed } = receipt
    const skipped = message_id === null ? ("suppressed" as const) : null
    return { message_id, skipped, accepted: [...accepted], rejected: [...rejected], suppressed: [...suppressed], omitted }
  },
  // Often only a part of a domain's messages hangs, for example in a content filter.
  slotsPerDestination: 2,
  destination: ({ to }) => domainOf(parseAddresses(typeof to === "string" ? to : (to[0] ?? ""), "to")[0]?.address ?? ""),
  async target(_config, { organization, deps }) {
    const { from, reply_to = [], envelope_from, dkim } = await deps.senders.senderOf(organization)
    const addresses = reply_to.map(({ address }) => address)
    return { from: from.address, name: from.name, reply_to: addresses, returns_to: envelope_from ?? null, signed_by: dkim?.domain ?? null }
  },
  preview(config) {
    const { reply_to, content, omitted } = messageOf(config)
    const { subject, text } = renderMail(content, "")
    const copies = {
      ...(config.cc ? { cc: config.cc } : {}),
      ...(config.bcc ? { bcc: config.bcc } : {}),
      ...(reply_to ? { reply_to } : {}),
    }
    return { to: config.to, ...copies, subject, text, ...(omitted.length > 0 ? { omitted } : {}) }
  },
})

const marketingMessage = "A marketing message goes to one recipient: give `to` one address, without cc and bcc."

/** Omits optional content that the event left empty or invalid, and still sends the message. */
function messageOf(config: Config): { content: MailContent; reply_to: string | undefined; omitted: string[] } {
  const omitted: string[] = []
  const reply_to = singleAddress(config.reply_to)
  if (config.reply_to && !reply_to) omitted.push("reply_to")
  const url = config.button?.url ? buttonUrl(config.button.url) : undefined
  if (config.button && !url) omitted.push("button")
  const content = {
    subject: textOf(config.subject ?? null),
    heading: textOf(config.heading),
    intro: textOf(config.intro ?? null),
    fields: rowsOf(config.fields),
    button: config.button && url ? { label: textOf(config.button.label), url } : undefined,
  }
  return { content, reply_to, omitted }
}

function singleAddress(text: string | null | undefined): string | undefined {
  if (!text) return undefined
  if (isMailAddress(text)) return text
  try {
    return parseAddresses(text, "reply_to").length === 1 ? text : undefined
  } catch {
    return undefined
  }
}

function rowsOf(fields: Config["fields"]): { label: string; value: string }[] {
  const rows = Array.isArray(fields) ? fields : Object.entries(fields ?? {}).map(([label, value]) => ({ label, value }))
  return rows.slice(0, 100).map(({ label, value }) => ({ label, value: textOf(value) }))
}

function textOf(value: Json): string {
  if (value === null) return ""
  if (typeof value === "boolean") return value ? "Yes" : "No"
  if (Array.isArray(value) && value.every((one) => typeof one !== "object" || one === null)) return value.map(textOf).join(", ")
  return typeof value === "object" ? JSON.stringify(value, null, 2) : String(value)
}

export default definePlugin({
  id: "action-email-send",
  needs: ["email"],
  config: z.strictObject({}),
  register: (registrar) => registrar.actions(emailSend),
})
