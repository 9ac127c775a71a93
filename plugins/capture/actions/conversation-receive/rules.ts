// The rule of conversation.receive.
import type { LintRule } from "#core"

const step = "pipeline:\n  - { type: conversation.receive, provider: twilio }"

export const conversationReceiveRules = {
  "unproven-messages": {
    level: "error",
    summary: "Messages of a provider without a proof that the provider sent them.",
    why: "Anybody who knows the address could write messages in a person's name, and opt people in or out.",
    remedy: "Set `auth_mode` to `provider_signature`, with the provider of the step.",
    bad: `auth_mode: none\n${step}`,
    good: `auth_mode: provider_signature\nauth_config: { provider: twilio, secret: { from_env: TWILIO_AUTH_TOKEN } }\n${step}`,
  },
} as const satisfies Record<string, LintRule>
