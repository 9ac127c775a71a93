// What a step makes of an answer: 2xx becomes a bounded result, anything else a failure that says whether trying again
// makes sense. The answer's text stays out of the error, which ends up in logs and journals.
import { AppError, type OutgoingResponse } from "#core"
import type { OutgoingResult } from "#core/engine"

const maxCharacters = 65_536
const worthRetrying: ReadonlySet<number> = new Set([408, 425, 429])

/** Throws `unavailable` for 408, 425, 429 and 5xx, `failed_precondition` with `retryable: false` for other statuses outside 2xx. */
export function outcomeOf(response: OutgoingResponse): OutgoingResult {
  const { status } = response
  if (status >= 200 && status < 300) {
    const truncated = response.text.length > maxCharacters
    return { status, body: truncated ? response.text.slice(0, maxCharacters).toWellFormed() : (response.json ?? response.text), truncated }
  }
  const retryable = worthRetrying.has(status) || status >= 500
  const message = `${response.origin} answered ${status}${retryable ? "" : "; a retry would not help"}.`
  if (!retryable) throw new AppError("failed_precondition", message, { reason: "unexpected_status", status, retryable })
  const after = Number(response.headers["retry-after"])
  const options = Number.isFinite(after) && after > 0 ? { retryAfterS: Math.min(after, 86_400) } : {}
  throw new AppError("unavailable", message, { reason: "receiver_unavailable", status, retryable }, options)
}
