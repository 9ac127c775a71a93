// For MACs that leave the body out: a token that was seen with one body is refused with another, so that the proof of
// one delivery cannot be moved to a forged one. A repeat of the same delivery passes. Kept in memory, for as long as the
// proof is fresh; another node does not know it.
import { createHash } from "node:crypto"
import { compileLift, type Lift } from "../request/lift.ts"
import { Refused } from "../request/refusal.ts"
import type { RequestView } from "../request/view.ts"

const mostRemembered = 10_000

export class OnceOnly {
  readonly #token: Lift
  readonly #keep_ms: number
  readonly #seen = new Map<string, { readonly body: string; readonly until: number }>()

  constructor(templates: readonly string[], tolerance_s: number) {
    this.#token = compileLift(templates)
    this.#keep_ms = tolerance_s * 2_000
  }

  /** Throws Refused `token_reused`. */
  check(view: RequestView): void {
    const token = this.#token(view)
    if (token === undefined) throw new Refused("missing_field", "The token that the signature covers is absent from the body.")
    const body = createHash("sha256").update(view.request.body).digest("base64")
    const now = view.request.receivedAt
    const earlier = this.#seen.get(token)
    if (earlier !== undefined && earlier.until >= now && earlier.body !== body) {
      throw new Refused(
        "token_reused",
        "The signature is right but was seen with another body: it covers a token only, and each token is good for one delivery.",
      )
    }
    if (earlier === undefined) this.#forget(now)
    this.#seen.set(token, { body, until: now + this.#keep_ms })
  }

  #forget(now: number): void {
    for (const [token, { until }] of this.#seen) {
      if (until >= now && this.#seen.size < mostRemembered) return
      this.#seen.delete(token)
    }
  }
}
