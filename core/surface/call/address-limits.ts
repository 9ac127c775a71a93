// What one address may ask of the service without a credential that holds: refused credentials and open documents take
// from one bucket. A credential that holds is never refused here, so that nobody behind the same address locks others out.

import { networkOf } from "../../kernel/client-address.ts"
import type { Clock } from "../../kernel/clock.ts"
import { AppError } from "../../kernel/errors.ts"
import { Buckets, windowS } from "./buckets.ts"

const maxAddresses = 20_000

export class AddressLimits {
  readonly #buckets: Buckets
  readonly #limit: number

  constructor(clock: Clock, perMinute: number) {
    this.#buckets = new Buckets(clock, maxAddresses)
    this.#limit = perMinute
  }

  /** Takes one; throws `resource_exhausted` when none is left. */
  take(address: string | undefined): void {
    if (address === undefined) return
    const bucket = this.#buckets.refilled(networkOf(address), this.#limit)
    if (bucket.tokens < 1) throw exhausted(this.#limit, ((1 - bucket.tokens) * windowS) / this.#limit)
    bucket.tokens -= 1
  }

  /** Runs what authenticates; a refusal takes one, and is `resource_exhausted` when none is left. */
  async guard<T>(address: string | undefined, authenticate: () => Promise<T>): Promise<T> {
    try {
      return await authenticate()
    } catch (error) {
      if (error instanceof AppError && error.code === "unauthenticated") this.take(address)
      throw error
    }
  }
}

function exhausted(limit: number, waitS: number): AppError {
  const retryAfterS = Math.max(1, Math.ceil(waitS))
  return new AppError(
    "resource_exhausted",
    `More than ${limit} requests a minute without a valid key from this address; try again in ${retryAfterS} s.`,
    { reason: "rate_limited", quota: "address", limit, window_s: windowS, retry_after_s: retryAfterS },
    { retryAfterS },
  )
}
