// Retry rules of a call: exponential delays with full jitter, never earlier than the service's `Retry-After`.
// https://aws.amazon.com/builders-library/timeouts-retries-and-backoff-with-jitter/
import type { ClientError } from "./error.ts"
import type { ClientRoute } from "./route.ts"

/** The number of attempts and the delays of a lost call. */
export interface RetryPolicy {
  /** Attempts in total; 1 disables retries. */
  readonly attempts: number
  readonly firstDelayMs: number
  readonly maxDelayMs: number
  /** A longer `Retry-After` ends the retries. */
  readonly maxRetryAfterMs: number
}

export const defaultRetries: RetryPolicy = { attempts: 4, firstDelayMs: 200, maxDelayMs: 5_000, maxRetryAfterMs: 30_000 }

/** Returns the milliseconds before the next attempt (`attempt` 1 is the first). Undefined if the failure is final. */
export function delayBeforeNext(args: {
  attempt: number
  error: ClientError
  route: ClientRoute
  policy: RetryPolicy
  random?: () => number
}): number | undefined {
  const { attempt, error, route, policy, random = Math.random } = args
  if (attempt >= policy.attempts || !mayPass(error, route)) return undefined
  const askedMs = (error.retryAfterS ?? 0) * 1_000
  if (askedMs > policy.maxRetryAfterMs) return undefined
  const backoffMs = random() * Math.min(policy.maxDelayMs, policy.firstDelayMs * 2 ** (attempt - 1))
  return askedMs + backoffMs
}

/** Returns true if the same call may succeed later, and a repeat is harmless. */
function mayPass({ code, details }: ClientError, { repeatable, keyed }: ClientRoute): boolean {
  if (details["committed"] === true) return false
  // Refused before any effect.
  if (details.reason === "rate_limited") return true
  if (!repeatable && !keyed) return false
  return code === "unavailable" || (code === "aborted" && details.reason === "still_running")
}

/** Rejects with the signal's reason if it aborts meanwhile. */
export function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason as Error)
    const aborted = () => {
      clearTimeout(timer)
      reject(signal?.reason as Error)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", aborted)
      resolve()
    }, ms)
    signal?.addEventListener("abort", aborted, { once: true })
  })
}
