// What one address may ask of the service without a credential that holds: refused credentials and open documents take
// from one bucket. A credential that holds is never refused here, so that nobody behind the same address locks others out.

import { type Tally, windowS } from "../../contract/tally.ts"
import { networkOf } from "../../kernel/client-address.ts"
import { AppError } from "../../kernel/errors.ts"

export class AddressLimits {
  readonly #tally: Tally
  readonly #limit: number

  constructor(tally: Tally, perMinute: number) {
    this.#tally = tally
    this.#limit = perMinute
  }

  /** Takes one; throws `resource_exhausted` when none is left. */
  async take(address: string | undefined): Promise<void> {
    if (address === undefined) return
    const { taken, left } = await this.#tally.take([{ id: `address:${networkOf(address)}`, limit: this.#limit }])
    if (!taken) throw exhausted(this.#limit, ((1 - (left[0] ?? 0)) * windowS) / this.#limit)
  }

  /** Runs what authenticates; a refusal takes one, and is `resource_exhausted` when none is left. */
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
    { reason: "rate_limited", quota: "address", limit, window_s: windowS, retry_after_s: retryAfterS },
    { retryAfterS },
  )
}
