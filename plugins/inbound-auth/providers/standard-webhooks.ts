// Senders that follow Standard Webhooks, under its own header names or Svix's.
import { defaultTolerance_s } from "../checks/timestamp.ts"
import type { StandardWebhooksScheme } from "../schemes/scheme.ts"
import type { ProviderRow } from "./row.ts"

const scheme: StandardWebhooksScheme = {
  kind: "standard_webhooks",
  hash: "sha256",
  key: "whsec",
  signed: "{id}.{timestamp}.{body}",
  timestamp: { at: ["header:webhook-timestamp", "header:svix-timestamp"], unit: "s", tolerance_s: defaultTolerance_s },
}

function sender(slug: string, name: string, rest: Partial<ProviderRow> = {}): ProviderRow {
  return {
    slug,
    name,
    scheme,
    secret: "provider",
    secretName: "signing secret (whsec_...)",
    eventId: ["{header:svix-id}", "{header:webhook-id}"],
    eventType: ["{body:type}"],
    ...rest,
  }
}

export const standardWebhooksProviders: readonly ProviderRow[] = [
  sender("standard_webhooks", "Standard Webhooks", {
    secret: "receiver",
    ack_timeout_s: 15,
    note: "For any sender that follows the specification. A public key (whpk_...) verifies its v1a signatures.",
  }),
  sender("svix", "Svix (any sender hosted on it)", { ack_timeout_s: 15 }),
  sender("resend", "Resend"),
  sender("clerk", "Clerk", { experimental: true }),
  sender("gitlab_signing_token", "GitLab (signing token)", {
    ack_timeout_s: 10,
    eventType: ["{header:x-gitlab-event}", "{body:object_kind}"],
  }),
  sender("loops", "Loops", { experimental: true }),
  sender("supabase", "Supabase (auth hooks, webhooks)", { experimental: true, secretName: "secret, shown as v1,whsec_..." }),
  sender("stytch", "Stytch", { experimental: true }),
  sender("openai", "OpenAI", { experimental: true }),
  sender("bigcommerce", "BigCommerce (where Standard Webhooks is on)", {
    experimental: true,
    note: "Sources disagree; stores that send a static header instead fit auth_mode shared_secret_header.",
  }),
]
