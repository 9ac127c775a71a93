// How many calls a credential and an organization may make: token buckets that refill evenly (contract/rate-limiter.ts; each
// machine counts its own). Refused calls count as well, so that hammering at a refusal does not pay.
// Header fields: draft-ietf-httpapi-ratelimit-headers-10.
import type { Caller } from "../../contract/caller.ts"
import { type RateLimiter, windowSeconds } from "../../contract/rate-limiter.ts"
import { AppError } from "../../kernel/errors.ts"

export interface Quota {
  readonly name: "key" | "organization"
  readonly limit: number
  readonly window_s: number
  /** Calls left now. */
  readonly remaining: number
  /** Seconds until the whole limit is there again. */
  readonly reset_s: number
}

export class RateLimits {
  readonly #limits: readonly (readonly [Quota["name"], number])[]
  readonly #rateLimiter: RateLimiter

  constructor(rateLimiter: RateLimiter, limits: { key_per_minute: number; organization_per_minute: number }) {
    this.#rateLimiter = rateLimiter
    this.#limits = [
      ["key", limits.key_per_minute],
      ["organization", limits.organization_per_minute],
    ]
  }

  /** Takes one call from both; `refusal` is to be thrown when one of them is used up (then nothing is taken from either). */
  async take(caller: Caller): Promise<{ quotas: readonly Quota[]; refusal: AppError | undefined }> {
    if (caller.credential.kind === "internal") return { quotas: [], refusal: undefined }
    const idOf = { key: caller.credential.id, organization: caller.organization.id }
    const { allowed, left } = await this.#rateLimiter.consume(this.#limits.map(([name, limit]) => ({ id: `${name}:${idOf[name]}`, limit })))
    const parts = this.#limits.map(([name, limit], index) => ({ name, limit, tokens: left[index] ?? 0 }))
    const empty = allowed ? undefined : parts.find(({ tokens }) => tokens < 1)
    return { quotas: parts.map(quotaOf), refusal: empty && refusalOf(empty) }
  }
}

interface Part {
  readonly name: Quota["name"]
  readonly limit: number
  readonly tokens: number
}

export function rateLimitHeaders(quotas: readonly Quota[]): Record<string, string> {
  if (quotas.length === 0) return {}
  return {
    "RateLimit-Policy": quotas.map(({ name, limit, window_s }) => `"${name}";q=${limit};w=${window_s}`).join(", "),
    RateLimit: quotas.map(({ name, remaining, reset_s }) => `"${name}";r=${remaining};t=${reset_s}`).join(", "),
  }
}

function quotaOf({ name, limit, tokens }: Part): Quota {
  const missing = limit - tokens
  return { name, limit, window_s: windowSeconds, remaining: Math.floor(tokens), reset_s: Math.ceil((missing * windowSeconds) / limit) }
}

function refusalOf({ name, limit, tokens }: Part): AppError {
  const retryAfterS = Math.max(1, Math.ceil(((1 - tokens) * windowSeconds) / limit))
  return new AppError(
    "resource_exhausted",
    `More than ${limit} calls a minute for this ${name}; try again in ${retryAfterS} s.`,
    { reason: "rate_limited", quota: name, limit, window_s: windowSeconds, retry_after_s: retryAfterS },
    { retryAfterS },
  )
}
