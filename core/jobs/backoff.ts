// Exponential backoff with full jitter: a random delay up to min(max, initial * factor^(attempt-1)).
// https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/
import type { RetryPolicy } from "../contract/job.ts"

/** Milliseconds to wait after the given failed attempt (1 is the first). */
export function backoff(retry: RetryPolicy, attempt: number, random: () => number = Math.random): number {
  const ceiling = Math.min(retry.max_delay_ms, retry.initial_delay_ms * retry.factor ** (attempt - 1))
  return Math.round(random() * ceiling)
}
