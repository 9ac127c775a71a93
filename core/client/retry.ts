// When a call is sent again, and after how long: exponential with full jitter, never sooner than the service asks.
// https://aws.amazon.com/builders-library/timeouts-retries-and-backoff-with-jitter/
import type { ClientError } from "./error.ts"
import type { ClientRoute } from "./route.ts"

/** How often a lost call is made again, and after how long. */
export interface RetryPolicy {
  /** Tries in all; 1: never again. */
  readonly attempts: number
  readonly firstDelayMs: number
  readonly maxDelayMs: number
  /** A `Retry-After` beyond this is not waited for. */
  readonly maxRetryAfterMs: number
}

export const defaultRetries: RetryPolicy = { attempts: 4, firstDelayMs: 200, maxDelayMs: 5_000, maxRetryAfterMs: 30_000 }

/** Milliseconds to wait after this try (the first is 1); undefined: the failure stands. */
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

/** Whether the same call may go through later, and sending it again can do no harm. */
function mayPass({ code, details }: ClientError, { repeatable, keyed }: ClientRoute): boolean {
  if (details["committed"] === true) return false
  // Refused before anything was done.
  if (details.reason === "rate_limited") return true
  if (!repeatable && !keyed) return false
  return code === "unavailable" || (code === "aborted" && details.reason === "still_running")
}

/** Rejects with the signal's reason when it is aborted meanwhile. */
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
