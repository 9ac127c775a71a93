// Verifies a captured request without a pipeline, for the command that explains refused webhooks (`millrace verify`). Fetches
// keys only if the caller supplies a fetcher.
import type { z } from "zod"
import { AppError, type InboundRequest, type Verdict } from "#core"
import { fieldProblems } from "#core/engine"
import type { KeyFetcher } from "./key-fetcher.ts"
import { hmacSha256 } from "./modes/hmac-sha256.ts"
import { noFetcher } from "./modes/plain-verifier.ts"
import { sharedSecretHeader } from "./modes/shared-secret-header.ts"
import { providerVerifier } from "./provider-verifier.ts"
import { ProviderConfig } from "./providers/config.ts"
import { findProvider } from "./providers/table.ts"

export interface CapturedRequest {
  /** Default: POST. */
  readonly method?: string
  /** The URL registered at the provider. Required if the URL is signed. */
  readonly url?: string
  readonly headers: Readonly<Record<string, string | readonly string[]>>
  /** Exactly as received. */
  readonly body: Buffer | string
}

export interface CapturedArgs {
  /** A provider's slug, or `hmac_sha256` or `shared_secret_header`. */
  readonly provider: string
  readonly secret: string
  readonly request: CapturedRequest
  /** Arrival of the request in milliseconds since the epoch. */
  readonly now: number
  /** Other settings of `auth_config`. */
  readonly config?: Readonly<Record<string, unknown>>
  readonly fetcher?: KeyFetcher
}

/** Returns the verdict, also for a bad request. Throws AppError `invalid_argument` for an unknown provider or an invalid config. */
export async function verifyCaptured({ provider, secret, request, now, config = {}, fetcher = noFetcher }: CapturedArgs): Promise<Verdict> {
  const secrets = [{ id: "given", value: secret }]
  const pipeline = { id: "captured", organization_id: "captured", owner_artifact_id: null }
  const inbound = inboundRequest(request, now)
  for (const mode of [hmacSha256, sharedSecretHeader]) {
    if (mode.mode !== provider) continue
    const parsed = mode.config.safeParse(config)
    if (!parsed.success) throw badConfig(mode.config, config, parsed.error.issues)
    return (mode.prepare as (args: unknown) => ReturnType<typeof mode.prepare>)({
      config: parsed.data,
      secrets,
      pipeline,
      deps: {},
    }).verify(inbound)
  }
  const fullConfig = { ...config, provider }
  const parsed = ProviderConfig.safeParse(fullConfig)
  const row = findProvider(provider)
  if (!parsed.success || !row) throw badConfig(ProviderConfig, fullConfig, parsed.error?.issues ?? [])
  return providerVerifier({ row, config: parsed.data, secrets, fetcher, note: () => undefined }).verify(inbound)
}

function badConfig(schema: z.ZodType, value: unknown, issues: readonly z.core.$ZodIssue[]): AppError {
  const fields = fieldProblems({ schema, value, issues }, ["auth_config"])
  const details = fields.map(({ path, message }) => `${path}: ${message}`).join(" ")
  return new AppError("invalid_argument", details, { reason: "invalid_auth_config", fields })
}

function inboundRequest({ method = "POST", url = "http://localhost/", headers, body }: CapturedRequest, now: number): InboundRequest {
  const query: Record<string, string | readonly string[]> = {}
  const start = url.indexOf("?")
  for (const [name, value] of new URLSearchParams(start < 0 ? "" : url.slice(start + 1))) {
    const earlier = query[name]
    query[name] = earlier === undefined ? value : [earlier, value].flat()
  }
  return {
    method,
    url,
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])),
    query,
    body: typeof body === "string" ? Buffer.from(body) : body,
    receivedAt: now,
  }
}
