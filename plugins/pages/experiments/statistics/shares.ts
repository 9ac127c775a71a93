// Shares with intervals for clustered counts. Rounds of one pair of pages resemble each other, so they carry less information
// than rounds of different pairs. Pure.
import { studentT } from "./distributions.ts"

/** Counts of one cluster. */
export interface Cluster {
  /** Number of hits; halves are allowed. */
  readonly hits: number
  /** Number of trials. */
  readonly of: number
}

export interface Share {
  /** Null without counts. */
  readonly value: number | null
  /** 95 % interval; from 0 to 1 without counts. */
  readonly low: number
  readonly high: number
  readonly n: number
  /** Fewer than 30: the figure is unreliable. */
  readonly too_few: boolean
}

const enough = 30

/**
 * Wilson's interval with the clusters' effective sample size (Kish), and Student's quantile for that many clusters. Identical
 * clusters count as one observation each.
 */
export function shareOf(clusters: readonly Cluster[]): Share {
  const counted = clusters.filter(({ of }) => of > 0)
  const n = counted.reduce((sum, { of }) => sum + of, 0)
  if (n === 0) return { value: null, low: 0, high: 1, n, too_few: true }
  const value = counted.reduce((sum, { hits }) => sum + hits, 0) / n
  const squares = counted.reduce((sum, { hits, of }) => sum + (hits - value * of) ** 2, 0)
  const variance = (squares / n ** 2) * (counted.length / Math.max(counted.length - 1, 1))
  const effective = variance > 0 && counted.length > 1 ? (value * (1 - value)) / variance : counted.length
  return { value, ...wilson(value, effective, studentT(counted.length - 1)), n, too_few: n < enough }
}

function wilson(p: number, n: number, z: number): { readonly low: number; readonly high: number } {
  const scale = 1 + z ** 2 / n
  const centre = (p + z ** 2 / (2 * n)) / scale
  const half = (z * Math.sqrt((p * (1 - p)) / n + z ** 2 / (4 * n ** 2))) / scale
  return { low: Math.max(0, centre - half), high: Math.min(1, centre + half) }
}
