// The action `conversation.receive`, as a plugin.
import { z } from "zod"
import { type DocumentAround, defineAction, definePlugin, type LintRule, template, templateJson } from "#core"
import { type Provider, providers, Receiver } from "../../../people/conversations/index.ts"

export default definePlugin({
  id: "action-conversation-receive",
  needs: ["conversations"],
  config: z.strictObject({}),
  register: (registrar) => registrar.actions(conversationReceive),
})

const step = "pipeline:\n  - { type: conversation.receive, provider: twilio }"

/** Lint rule of conversation.receive. */
const conversationReceiveRules = {
  "unproven-messages": {
    level: "error",
    summary: "Messages of a provider without a proof that the provider sent them.",
    why: "Anybody who knows the address could write messages in a person's name, and opt people in or out.",
    remedy: "Set `auth_mode` to `provider_signature`, with the provider of the step.",
    bad: `auth_mode: none\n${step}`,
    good: `auth_mode: provider_signature\nauth_config: { provider: twilio, secret: { from_env: TWILIO_AUTH_TOKEN } }\n${step}`,
  },
} as const satisfies Record<string, LintRule>

/**
 * Receives messages and delivery reports from a provider's webhook. Opt-outs in the messages are part of the event's commit.
 * After the reply to the provider, the service sends no more messages to the person.
 */
export const conversationReceive = defineAction({
  type: "conversation.receive",
  summary: "Take a chat app's or text messages' webhook into conversations.",
  description:
    "Messages, reactions, delivery reports and opt-outs of Meta's Cloud API for WhatsApp, or of Twilio. Deliveries may come in any order and more than once. The pipeline's auth mode is `provider_signature` of the same provider.",
  timing: "commit",
  idempotency: "exactly_once",
  config: z.strictObject({
    provider: z.enum(Object.keys(providers) as [Provider, ...Provider[]]).describe("Whose webhook it is."),
    payload: templateJson().optional().describe("The webhook; the event when absent."),
    message_id: template(z.string().max(100).nullable())
      .optional()
      .describe("The message that a report is about, as Twilio sends it back: `{{ query.message_id }}`."),
  }),
  result: z.object({
    messages: z.int(),
    statuses: z.int(),
    opt_outs: z.int(),
    opt_ins: z.int(),
    deferred: z.int().describe("Parts of a large delivery that jobs take in after the answer."),
    ignored: z.int().describe("Parts that are neither, such as a notice about the account."),
  }),
  examples: [
    {
      title: "WhatsApp messages",
      yaml: "type: conversation.receive\nprovider: meta_whatsapp\npayload: { object: whatsapp_business_account, entry: [] }\n",
    },
    {
      title: "Text messages",
      yaml: 'type: conversation.receive\nprovider: twilio\npayload: { MessageSid: SM1, From: "+493098765432", To: "+493012345678", Body: Hello }\n',
    },
  ],
  rules: conversationReceiveRules,
  lint(_config, _event, document) {
    if (!document || document.source_kind === "internal" || !isOpen(document)) return []
    const message = `With auth_mode "${document.auth_mode}" anybody can write messages and opt-outs here. Use provider_signature of the same provider.`
    return [{ rule: "unproven-messages", level: "error" as const, message }]
  },
  inject: { receiver: Receiver },
  run: ({ config: { provider, payload, message_id }, context, deps, work }) =>
    deps.receiver.stage(work, context.organization.id, {
      provider,
      payload: payload ?? context.event,
      at: context.receivedAt,
      origin: context.originId,
      messageId: message_id || null,
    }),
})

/** Returns true if the auth mode accepts events without a credential. */
function isOpen({ auth_mode, auth_config }: DocumentAround): boolean {
  return auth_mode === "none" || auth_mode === "public_artifact" || auth_config["audience"] === "public_and_viewers"
}
