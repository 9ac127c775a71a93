// Limits open sockets for each credential, for each address without a credential, and for all anonymous sockets of this node.
import type { RateLimiter } from "../../contract/rate-limiter.ts"
import { networkOf } from "../../kernel/client-address.ts"
import { AppError } from "../../kernel/errors.ts"
import type { Guest } from "./admission.ts"

export interface SocketLimitsArgs {
  readonly rateLimiter: RateLimiter
  readonly perAddress: number
  readonly perKey: number
}

const maxAnonymous = 20_000

export class SocketLimits {
  readonly #args: SocketLimitsArgs
  #anonymous = 0

  constructor(args: SocketLimitsArgs) {
    this.#args = args
  }

  /** Counts a new socket. Returns the release function. Throws `resource_exhausted`. */
  async enter(guest: Guest, address: string): Promise<() => void> {
    const { rateLimiter, perAddress, perKey } = this.#args
    if (guest.kind === "caller") {
      const release = await rateLimiter.acquire({ id: `keyed-sockets:${guest.caller.credential.id}`, limit: perKey })
      if (!release) throw full(`This key has ${perKey} sockets already, its limit.`, "too_many_sockets")
      return release
    }
    if (this.#anonymous >= maxAnonymous)
      throw full(`This node has ${maxAnonymous} anonymous sockets already, its limit.`, "too_many_anonymous_sockets")
    const release = await rateLimiter.acquire({ id: `sockets:${networkOf(address)}`, limit: perAddress })
    if (!release) throw full(`This client IP has ${perAddress} anonymous sockets already, its limit.`, "too_many_sockets")
    this.#anonymous += 1
    let left = false
    return () => {
      if (left) return
      left = true
      this.#anonymous -= 1
      release()
    }
  }
}

function full(message: string, reason: "too_many_anonymous_sockets" | "too_many_sockets"): AppError {
  return new AppError("resource_exhausted", `${message} Close one, or try again later.`, { reason })
}
