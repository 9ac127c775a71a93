// Shares with their intervals, where what was counted comes in clusters: rounds of one pair of pages resemble each other, and
// say less than as many of different pairs. Pure.
import { studentT } from "./distributions.ts"

/** What was counted of one cluster. */
export interface Cluster {
  /** How often it was so; halves are allowed. */
  readonly hits: number
  /** Of how many. */
  readonly of: number
}

export interface Share {
  /** Null where nothing was counted. */
  readonly value: number | null
  /** 95 % interval: from 0 to 1 where nothing was counted. */
  readonly low: number
  readonly high: number
  readonly n: number
  /** Fewer than 30: the figure says little. */
  readonly too_few: boolean
}

const enough = 30

/**
 * Wilson's interval with as many observations as the clusters are worth (Kish's effective sample size), and Student's quantile
 * for that many clusters. Clusters that do not differ at all count as one observation each.
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
