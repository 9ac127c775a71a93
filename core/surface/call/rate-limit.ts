// How many calls a credential and an organization may make: token buckets that refill evenly, in this process's memory
// (each node counts its own). Refused calls count as well, so that hammering at a refusal does not pay.
// Header fields: draft-ietf-httpapi-ratelimit-headers-10.
import type { Caller } from "../../contract/caller.ts"
import type { Clock } from "../../kernel/clock.ts"
import { AppError } from "../../kernel/errors.ts"
import { type Bucket, Buckets, windowS } from "./buckets.ts"

export interface Quota {
  readonly name: "key" | "organization"
  readonly limit: number
  readonly window_s: number
  /** Calls left now. */
  readonly remaining: number
  /** Seconds until the whole limit is there again. */
  readonly reset_s: number
}

const maxBuckets = 50_000

export class RateLimits {
  readonly #limits: readonly (readonly [Quota["name"], number])[]
  readonly #buckets: Buckets

  constructor(clock: Clock, limits: { key_per_minute: number; organization_per_minute: number }) {
    this.#buckets = new Buckets(clock, maxBuckets)
    this.#limits = [
      ["key", limits.key_per_minute],
      ["organization", limits.organization_per_minute],
    ]
  }

  /** Takes one call from both; `refusal` is to be thrown when one of them is used up (then nothing is taken from either). */
  take(caller: Caller): { quotas: readonly Quota[]; refusal: AppError | undefined } {
    if (caller.credential.kind === "internal") return { quotas: [], refusal: undefined }
    const parts = this.#limits.map(([name, limit]) => {
      const id = name === "key" ? caller.credential.id : caller.organization.id
      return { name, limit, bucket: this.#buckets.refilled(`${name}:${id}`, limit) }
    })
    const empty = parts.find(({ bucket }) => bucket.tokens < 1)
    if (!empty) for (const { bucket } of parts) bucket.tokens -= 1
    const quotas = parts.map(({ name, limit, bucket }) => quotaOf(name, limit, bucket))
    return { quotas, refusal: empty && refusalOf(empty) }
  }
}

export function rateLimitHeaders(quotas: readonly Quota[]): Record<string, string> {
  if (quotas.length === 0) return {}
  return {
    "RateLimit-Policy": quotas.map(({ name, limit, window_s }) => `"${name}";q=${limit};w=${window_s}`).join(", "),
    RateLimit: quotas.map(({ name, remaining, reset_s }) => `"${name}";r=${remaining};t=${reset_s}`).join(", "),
  }
}

function quotaOf(name: Quota["name"], limit: number, bucket: Bucket): Quota {
  const missing = limit - bucket.tokens
  return { name, limit, window_s: windowS, remaining: Math.floor(bucket.tokens), reset_s: Math.ceil((missing * windowS) / limit) }
}

function refusalOf({ name, limit, bucket }: { name: Quota["name"]; limit: number; bucket: Bucket }): AppError {
  const retryAfterS = Math.max(1, Math.ceil(((1 - bucket.tokens) * windowS) / limit))
  return new AppError(
    "resource_exhausted",
    `More than ${limit} calls a minute for this ${name}; try again in ${retryAfterS} s.`,
    { reason: "rate_limited", quota: name, limit, window_s: windowS, retry_after_s: retryAfterS },
    { retryAfterS },
  )
}
