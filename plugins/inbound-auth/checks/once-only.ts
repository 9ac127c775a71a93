// Protects MACs that do not cover the body. A token seen with one body is refused with another body. A valid signature therefore
// cannot be moved to a forged delivery. Repeats of the same delivery pass. Tokens stay in memory as long as the signature is
// fresh, shared by all workers of a machine. Other machines do not see them.
import { createHash } from "node:crypto"
import { compileLift, type Lift } from "../request/lift.ts"
import { Refused } from "../request/refusal.ts"
import type { RequestView } from "../request/view.ts"

/** Returns the first body of a token. Both are hashes. */
export type FirstSeen = (token: string, body: string, keepMs: number) => Promise<string>

function hashOf(part: string | Uint8Array): string {
  return createHash("sha256").update(part).digest("base64")
}

export class OnceOnly {
  readonly #token: Lift
  readonly #keepMs: number
  readonly #firstSeen: FirstSeen

  constructor(templates: readonly string[], toleranceS: number, firstSeen: FirstSeen) {
    this.#token = compileLift(templates)
    this.#keepMs = toleranceS * 2_000
    this.#firstSeen = firstSeen
  }

  /** Throws Refused `token_reused`. */
  async check(view: RequestView): Promise<void> {
    const token = this.#token(view)
    if (token === undefined) throw new Refused("missing_field", "The token that the signature covers is absent from the body.")
    const body = hashOf(view.request.body)
    if ((await this.#firstSeen(hashOf(token), body, this.#keepMs)) === body) return
    throw new Refused(
      "token_reused",
      "The signature is right but was seen with another body: it covers a token only, and each token is valid for one delivery.",
    )
  }
}
