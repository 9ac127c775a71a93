// Wraps a check so that errors and rejections become verdicts. Verifiers therefore never throw.
import type { InboundRequest, Verdict } from "#core"
import type { DeliveryShape } from "./content.ts"
import { Refused } from "./refusal.ts"
import { RequestView } from "./view.ts"

type Check = (view: RequestView) => Verdict | Promise<Verdict>

export function guardCheck(check: Check, delivery?: DeliveryShape): (request: InboundRequest) => Verdict | Promise<Verdict> {
  return (request) => {
    try {
      const verdict = check(new RequestView(request, delivery))
      return verdict instanceof Promise ? verdict.catch(asVerdict) : verdict
    } catch (error) {
      return asVerdict(error)
    }
  }
}

function asVerdict(error: unknown): Verdict {
  if (error instanceof Refused) return { ok: false, cause: error.word, message: error.message }
  // The text of a foreign error may quote key material, so it is not repeated.
  return { ok: false, cause: "verifier_error", message: "The request could not be checked: the proof or the key has an unexpected form." }
}
