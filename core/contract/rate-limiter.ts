// Token buckets, concurrency limits and first values. Each process counts for itself.
import { token } from "../kernel/di.ts"

export interface Limit {
  /** The bucket's id, such as `key:<id>`. */
  readonly id: string
  readonly limit: number
  /** Tokens of this call; default 1. A bucket with a token left covers any cost, and refills before it allows the next call. */
  readonly cost?: number
}

export interface FirstValue {
  readonly id: string
  readonly value: string
  readonly keepMs: number
}

export interface Consumed {
  /** False if a bucket was empty. No bucket is charged then. */
  readonly allowed: boolean
  /** Tokens left in each bucket, fractions included. */
  readonly left: readonly number[]
}

/** Token buckets, concurrency limits and first values, in this process. */
export interface RateLimiter {
  /** Charges each bucket. A bucket has `limit` tokens and refills evenly over a minute. */
  consume(buckets: readonly Limit[]): Promise<Consumed>
  /** Takes one of `limit` permits and returns its release. Undefined if all are taken. */
  acquire(permits: Limit): Promise<(() => void) | undefined>
  /** Returns the first value stored under an id. The value expires `keepMs` after the last call. */
  firstValue(given: FirstValue): Promise<string>
}

export const RateLimiter = token<RateLimiter>("RateLimiter")

/** Refill time of an empty bucket, in seconds. */
export const windowSeconds = 60
