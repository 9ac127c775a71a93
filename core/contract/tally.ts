// Counts that limits are held against, and what may be used once. Each process counts for itself.
import { token } from "../kernel/di.ts"

export interface Limit {
  /** What is counted, such as `key:<id>`. */
  readonly id: string
  readonly limit: number
}

export interface Note {
  readonly id: string
  readonly value: string
  readonly keepMs: number
}

export interface Taken {
  /** False: one of the buckets was empty, and nothing was taken from any. */
  readonly taken: boolean
  /** What each holds now, parts of one included. */
  readonly left: readonly number[]
}

/** Counts that limits are held against, and what may be used once, in this process. */
export interface Tally {
  /** Takes one from each of the buckets, which hold `limit` and refill evenly over a minute. */
  take(buckets: readonly Limit[]): Promise<Taken>
  /** Takes one of `limit` places until what it returns is called; undefined when all are taken. */
  hold(place: Limit): Promise<(() => void) | undefined>
  /** The value first noted under an id, which is kept for that long after it was last asked for. */
  first(note: Note): Promise<string>
}

export const Tally = token<Tally>("Tally")

/** In which an empty bucket fills up, seconds. */
export const windowS = 60
