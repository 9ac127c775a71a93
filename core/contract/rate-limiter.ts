// Token buckets, concurrency limits and values that count once. Each process counts for itself.
import { token } from "../kernel/di.ts"

export interface Limit {
  /** What is counted, such as `key:<id>`. */
  readonly id: string
  readonly limit: number
  /** Tokens of this call; 1 unless given. A bucket with a token left covers any cost, and pays the rest while it refills. */
  readonly cost?: number
}

export interface FirstValue {
  readonly id: string
  readonly value: string
  readonly keepMs: number
}

export interface Consumed {
  /** False where one of the buckets was empty; nothing was taken from any then. */
  readonly allowed: boolean
  /** Tokens left in each bucket, fractions included. */
  readonly left: readonly number[]
}

/** Token buckets, concurrency limits and values that count once, in this process. */
export interface RateLimiter {
  /** Takes a token from each of the buckets, which hold `limit` and refill evenly over a minute. */
  consume(buckets: readonly Limit[]): Promise<Consumed>
  /** Takes one of `limit` permits; the result releases it. undefined when all are taken. */
  acquire(permits: Limit): Promise<(() => void) | undefined>
  /** The value first given under an id; it expires `keepMs` after the last call. */
  firstValue(given: FirstValue): Promise<string>
}

export const RateLimiter = token<RateLimiter>("RateLimiter")

/** Time in which an empty bucket refills, in seconds. */
export const windowSeconds = 60
