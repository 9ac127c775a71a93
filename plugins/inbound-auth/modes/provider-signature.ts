// `provider_signature`: the signature of a known provider, by its row of the provider table.
import { defineAuthMode, Log, RateLimiter, Scripts } from "#core"
import { KeyFetcher } from "../key-fetcher.ts"
import { providerVerifier } from "../provider-verifier.ts"
import { ProviderConfig } from "../providers/config.ts"
import { checkProviderSecret, secretOf } from "../providers/secret.ts"
import { findProvider, type ProviderRow } from "../providers/table.ts"
import { signAsProvider, testSecretOf } from "../signing/sign-as-provider.ts"

export const providerSignature = defineAuthMode({
  mode: "provider_signature",
  summary: "The signature of a known provider (Stripe, GitHub, Slack, ...).",
  description:
    "`auth_config.provider` names the provider. If the provider issues the secret, give it as `auth_config.secret` or later with rotate-secret. Setup handshakes are answered, in state `proposed` too.",
  config: ProviderConfig,
  examples: [
    {
      title: "GitHub, with the secret of its webhook",
      yaml: "auth_mode: provider_signature\nauth_config: { provider: github, secret: { from_env: GITHUB_WEBHOOK_SECRET } }",
    },
    {
      title: "Stripe, with the secret given later by rotate-secret",
      yaml: "auth_mode: provider_signature\nauth_config: { provider: stripe }",
    },
  ],
  secret: (config) => secretOf(rowOf(config), config),
  checkSecret: (secret, config) => checkProviderSecret(secret, rowOf(config), config),
  inject: { fetcher: KeyFetcher, log: Log, rateLimiter: RateLimiter, scripts: Scripts },
  prepare({ config, secrets, pipeline, deps }) {
    // The logger is read on use: a verifier may be prepared without services, only for its facts.
    const note = (message: string) => deps.log.child({ pipeline_id: pipeline.id, organization_id: pipeline.organization_id }).info(message)
    const firstSeen = (token: string, value: string, keepMs: number) =>
      deps.rateLimiter.firstValue({ id: `${pipeline.id}:${token}`, value, keepMs })
    return providerVerifier({
      row: rowOf(config),
      config,
      secrets,
      fetcher: deps.fetcher,
      firstSeen,
      note,
      organization: pipeline.organization_id,
      scripts: deps.scripts,
    })
  },
  sign: ({ config, secret, request }) => signAsProvider({ row: rowOf(config), config, secret, request }),
  testSecret: (config) => testSecretOf(rowOf(config)),
})

function rowOf({ provider }: { readonly provider: string }): ProviderRow {
  const row = findProvider(provider)
  if (!row) throw new Error(`No provider "${provider}" is known, which the settings refuse.`)
  return row
}
