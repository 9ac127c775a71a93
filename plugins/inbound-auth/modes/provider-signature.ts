// `provider_signature`: what a known provider signs, by its row of the provider table.
import { AppError, defineAuthMode, Log } from "#core"
import { KeyFetcher } from "../key-fetcher.ts"
import { providerVerifier } from "../provider-verifier.ts"
import { ProviderConfig } from "../providers/config.ts"
import type { ProviderRow } from "../providers/row.ts"
import { checkProviderSecret, secretOf } from "../providers/secret.ts"
import { findProvider } from "../providers/table.ts"

export const providerSignature = defineAuthMode({
  mode: "provider_signature",
  summary: "The signature of a known provider (Stripe, GitHub, Slack, ...).",
  description:
    "`auth_config.provider` names the provider. Where the provider makes the secret itself, give it as `auth_config.secret` or later with rotate-secret. Setup handshakes are answered, in state `proposed` too.",
  config: ProviderConfig,
  secret: (config) => secretOf(rowOf(config), config),
  checkSecret: (secret, config) => checkProviderSecret(secret, rowOf(config), config),
  inject: { fetcher: KeyFetcher, log: Log },
  prepare({ config, secrets, pipeline, deps }) {
    const log = deps.log.child({ pipeline_id: pipeline.id, organization_id: pipeline.organization_id })
    return providerVerifier({ row: rowOf(config), config, secrets, fetcher: deps.fetcher, note: (message) => log.info(message) })
  },
})

function rowOf({ provider }: { readonly provider: string }): ProviderRow {
  const row = findProvider(provider)
  if (!row) throw new AppError("invalid_argument", `No provider "${provider}" is known.`, { reason: "unknown_provider" })
  return row
}
