// Rate limits of credentials and organizations: token buckets with an even refill (contract/rate-limiter.ts). Each machine counts
// separately. Refused calls count too, so rapid retries gain no calls. Header fields: draft-ietf-httpapi-ratelimit-headers-10.
import type { AnyCaller } from "../../contract/caller.ts"
import { type RateLimiter, windowSeconds } from "../../contract/rate-limiter.ts"
import { AppError } from "../../kernel/errors.ts"

export interface Quota {
  /** `person`: a person without an organization. All sessions of the person share the quota. */
  readonly name: "key" | "organization" | "person"
  readonly limit: number
  readonly window_s: number
  /** Currently remaining calls. */
  readonly remaining: number
  /** Seconds until the quota is full again. */
  readonly reset_s: number
}

export class RateLimits {
  readonly #limits: { key_per_minute: number; organization_per_minute: number }
  readonly #rateLimiter: RateLimiter

  constructor(rateLimiter: RateLimiter, limits: { key_per_minute: number; organization_per_minute: number }) {
    this.#rateLimiter = rateLimiter
    this.#limits = limits
  }

  /**
   * Consumes one call from both quotas. If one quota is empty, consumes no call and returns the `refusal` for the caller to
   * throw.
   */
  async take(caller: AnyCaller): Promise<{ quotas: readonly Quota[]; refusal: AppError | undefined }> {
    if (caller.credential.kind === "internal") return { quotas: [], refusal: undefined }
    const { key_per_minute, organization_per_minute } = this.#limits
    const { credential, organization, user } = caller
    const shared = organization ? ({ name: "organization", id: organization.id } as const) : ({ name: "person", id: user.id } as const)
    const limits = [
      { name: "key", id: credential.id, limit: key_per_minute },
      { ...shared, limit: organization_per_minute },
    ] as const
    const { allowed, left } = await this.#rateLimiter.consume(limits.map(({ name, id, limit }) => ({ id: `${name}:${id}`, limit })))
    const parts = limits.map(({ name, limit }, index) => ({ name, limit, tokens: left[index] ?? 0 }))
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
