// Rate limits for events of an organization's pages: per client address and in total. One visitor or script must not crowd out
// others.
// A refused request is refused as a whole, so the sender can repeat it.

import { z } from "zod"
import { AppError, type RateLimiter } from "#core"
import { networkOf, rateLimitWindowSeconds } from "#core/engine"

/** Operator settings for page events. */
export const PageEventSettings = z.strictObject({
  address_per_minute: z
    .int()
    .min(1)
    .default(1_200)
    .describe("Requests with events allowed per client IP and organization per minute; a beacon sends at most one per second."),
  organization_per_minute: z.int().min(1).default(120_000).describe("Requests with events allowed per organization per minute."),
})
export type PageEventSettings = z.output<typeof PageEventSettings>

export class EventLimits {
  readonly #rateLimiter: RateLimiter
  readonly #settings: PageEventSettings

  constructor(rateLimiter: RateLimiter, settings: PageEventSettings) {
    this.#rateLimiter = rateLimiter
    this.#settings = settings
  }

  /** Counts a request. Returns an error if a limit is exceeded. */
  async take(organization: string, address: string): Promise<AppError | undefined> {
    const { address_per_minute, organization_per_minute } = this.#settings
    const quotas = [
      { quota: "address", id: `page-events-address:${organization}/${networkOf(address)}`, limit: address_per_minute },
      { quota: "organization", id: `page-events:${organization}`, limit: organization_per_minute },
    ]
    const { allowed, left } = await this.#rateLimiter.consume(quotas)
    if (allowed) return undefined
    const empty = quotas.findIndex((_, index) => (left[index] ?? 0) < 1)
    const { quota, limit } = quotas[empty] ?? quotas[0] ?? { quota: "address", limit: address_per_minute }
    const retryAfterS = Math.max(1, Math.ceil(((1 - (left[empty] ?? 0)) * rateLimitWindowSeconds) / limit))
    return new AppError(
      "resource_exhausted",
      `More than ${limit} requests a minute for this ${quota}; none of these events were accepted; send them again in ${retryAfterS} s.`,
      { reason: "rate_limited", quota, limit, window_s: rateLimitWindowSeconds, retry_after_s: retryAfterS },
      { retryAfterS },
    )
  }
}
