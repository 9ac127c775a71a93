// Requests in the form of the inbound handler, and verifiers of single providers, for the tests beside this file.
import type { InboundRequest, Verdict, VerificationSecret, Verifier } from "#core"
import { LocalRateLimiter } from "../../../core/cluster/local-rate-limiter.ts"
import { systemClock } from "../../../core/kernel/clock.ts"
import type { KeyFetcher } from "../../../plugins/inbound-auth/key-fetcher.ts"
import { noFetcher } from "../../../plugins/inbound-auth/modes/plain-verifier.ts"
import { providerVerifier } from "../../../plugins/inbound-auth/provider-verifier.ts"
import { ProviderConfig } from "../../../plugins/inbound-auth/providers/config.ts"
import { findProvider } from "../../../plugins/inbound-auth/providers/table.ts"

/** 2026-01-02T03:04:05.678Z */
export const now = 1_767_323_045_678
export const endpoint = "https://hooks.example.test/v1/inbound/in_0123456789abcdefghijkl"

export interface RequestInput {
  readonly method?: string
  readonly url?: string
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  readonly body?: string | Buffer
  readonly receivedAt?: number
}

export function inbound({ method = "POST", url = endpoint, headers = {}, body = "", receivedAt = now }: RequestInput): InboundRequest {
  const query: Record<string, string | readonly string[]> = {}
  for (const [name, value] of new URL(url).searchParams) {
    const earlier = query[name]
    query[name] = earlier === undefined ? value : [earlier, value].flat()
  }
  const lower = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
  return { method, url, headers: lower, query, body: Buffer.isBuffer(body) ? body : Buffer.from(body), receivedAt }
}

export function secretsOf(...values: readonly string[]): VerificationSecret[] {
  return values.map((value, index) => ({ id: `secret-${index + 1}`, value }))
}

export interface Made {
  readonly secrets?: readonly string[]
  readonly config?: Readonly<Record<string, unknown>>
  readonly fetcher?: KeyFetcher
  readonly note?: (message: string) => void
}

/** Returns the verifier of one provider. Parses its auth_config as the service does. */
export function providerOf(
  provider: string,
  { secrets = [], config = {}, fetcher = noFetcher, note = () => undefined }: Made = {},
): Verifier {
  const row = findProvider(provider)
  if (!row) throw new Error(`no row ${provider}`)
  const rateLimiter = new LocalRateLimiter(systemClock)
  const firstSeen = (id: string, value: string, keepMs: number) => rateLimiter.firstValue({ id, value, keepMs })
  const parsed = ProviderConfig.parse({ ...config, provider })
  return providerVerifier({ row, config: parsed, secrets: secretsOf(...secrets), fetcher, firstSeen, note })
}

/** Returns the cause of a refusal, or "ok". */
export function causeOf(verdict: Verdict): string {
  return verdict.ok ? "ok" : verdict.cause
}

export function form(pairs: readonly (readonly [string, string])[]): string {
  return new URLSearchParams(pairs.map(([name, value]): [string, string] => [name, value])).toString()
}
