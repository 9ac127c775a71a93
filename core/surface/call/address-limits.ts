// Per-address limit for requests without a valid credential. Refused credentials and open documents share one bucket. A valid
// credential is never refused here. A client therefore cannot lock out others behind the same address.
import { type RateLimiter, windowSeconds } from "../../contract/rate-limiter.ts"
import { networkOf } from "../../kernel/client-address.ts"
import { AppError } from "../../kernel/errors.ts"

export class AddressLimits {
  readonly #rateLimiter: RateLimiter
  readonly #limit: number

  constructor(rateLimiter: RateLimiter, perMinute: number) {
    this.#rateLimiter = rateLimiter
    this.#limit = perMinute
  }

  /** Consumes one request. Throws `resource_exhausted` if the bucket is empty. */
  async take(address: string | undefined): Promise<void> {
    if (address === undefined) return
    const { allowed, left } = await this.#rateLimiter.consume([{ id: `address:${networkOf(address)}`, limit: this.#limit }])
    if (!allowed) throw exhausted(this.#limit, ((1 - (left[0] ?? 0)) * windowSeconds) / this.#limit)
  }

  /** Runs an authentication. A refused credential consumes one request. Throws `resource_exhausted` if the bucket is empty. */
  async guard<T>(address: string | undefined, authenticate: () => Promise<T>): Promise<T> {
    try {
      return await authenticate()
    } catch (error) {
      if (error instanceof AppError && error.code === "unauthenticated") await this.take(address)
      throw error
    }
  }
}

function exhausted(limit: number, waitS: number): AppError {
  const retryAfterS = Math.max(1, Math.ceil(waitS))
  return new AppError(
    "resource_exhausted",
    `More than ${limit} requests a minute without a valid key from this address; try again in ${retryAfterS} s.`,
    { reason: "rate_limited", quota: "address", limit, window_s: windowSeconds, retry_after_s: retryAfterS },
    { retryAfterS },
  )
}
