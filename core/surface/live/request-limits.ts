// Limits of socket requests. Each request counts against its key or address before it runs. Running requests take turns by
// organization. A connection counts as a request and takes turns by credential.
import { createHash } from "node:crypto"
import { AppError } from "../../kernel/errors.ts"
import { FairLimiter } from "../../kernel/fair-limiter.ts"
import { giveWay } from "../../kernel/main-thread.ts"
import { runOutsideRequests } from "../../kernel/request-scope.ts"
import type { AddressLimits } from "../call/address-limits.ts"
import type { RateLimits } from "../call/rate-limit.ts"
import type { Guest } from "./admission.ts"

export interface RequestLimitsDeps {
  readonly rateLimits: RateLimits
  readonly addresses?: AddressLimits
}

/** Concurrent requests and handshakes. Each may read from the store. */
const slots = 8
/** A socket has at most one request here, so the limits of sockets also limit this queue. */
const maxWaiting = 100_000
const maxWaitingPerOrganization = 10_000

export class RequestLimits {
  readonly #deps: RequestLimitsDeps
  readonly #turns: FairLimiter
  readonly #handshakes: FairLimiter

  constructor(deps: RequestLimitsDeps) {
    this.#deps = deps
    const options = { slots, maxWaiting, maxWaitingPerOrganization, refusal: overloaded }
    this.#turns = new FairLimiter(options)
    this.#handshakes = new FairLimiter(options)
  }

  /** Consumes one call. Throws `resource_exhausted` if the quota of the key, organization or address is used up. */
  async count(guest: Guest, address: string): Promise<void> {
    if (guest.kind === "viewer") return await this.#deps.addresses?.take(address)
    const { refusal } = await this.#deps.rateLimits.take(guest.caller)
    if (refusal) throw refusal
  }

  /** Runs a request in the turn of the guest's organization. */
  inTurn<T>(guest: Guest, run: () => Promise<T>): Promise<T> {
    const organization = guest.kind === "caller" ? guest.caller.organization.id : guest.organization
    return this.#turns.run({ organization }, async () => {
      await giveWay()
      return await runOutsideRequests(run, { operation: "live request", organization })
    })
  }

  /** Runs a handshake in the turn of its credential. The organization is unknown before authentication. */
  handshake<T>(auth: Readonly<Record<string, unknown>>, address: string, run: () => Promise<T>): Promise<T> {
    const given = auth["token"] ?? auth["endpoint_id"]
    const key = typeof given === "string" ? createHash("sha256").update(given).digest("base64") : ""
    return this.#handshakes.run({ organization: key === "" ? address : key, key: address }, async () => {
      await giveWay()
      return await runOutsideRequests(run, { operation: "live handshake", organization: "" })
    })
  }
}

function overloaded(): AppError {
  return new AppError("unavailable", "Too many requests of sockets are waiting.", { reason: "overloaded" }, { retryAfterS: 1 })
}
