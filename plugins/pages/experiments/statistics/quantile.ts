// A confidence sequence for a quantile, from a histogram. At a true quantile, the number of values at or below it is a number of
// successes at its level. So the ranks not refuted by the mixture of rate.ts contain it at all times (Howard and Ramdas, arXiv
// 1906.09712). Bounds are the outer edges of bins. Pure.
import { edge, type Interval, rateEvidence } from "./rate.ts"

/** A bin contains values from `from` up to `to`. Bins are ordered and do not overlap. */
export interface Bin {
  readonly from: number
  readonly to: number
  readonly count: number
}

export interface QuantileEstimate extends Interval {
  readonly n: number
  /** Centre of the quantile's bin; undefined without values. */
  readonly value: number | undefined
}

export function quantileInterval(bins: readonly Bin[], level: number, alpha: number): QuantileEstimate {
  const n = bins.reduce((sum, { count }) => sum + count, 0)
  if (n === 0) return { n, value: undefined, low: 0, high: Number.POSITIVE_INFINITY }
  const isOut = (rank: number) => rateEvidence({ n, s: rank }, level) >= -Math.log(alpha)
  const within = Math.round(level * n)
  const lowest = isOut(0) ? Math.ceil(edge(within, 0, (rank) => isOut(Math.floor(rank)))) : 0
  const highest = isOut(n) ? Math.floor(edge(within, n, (rank) => isOut(Math.ceil(rank)))) : n
  const low = binAt(bins, lowest)
  const high = binAt(bins, highest + 1)
  const middle = binAt(bins, Math.max(1, Math.ceil(level * n)))
  return {
    n,
    value: middle && (middle.from + middle.to) / 2,
    low: lowest === 0 ? 0 : (low?.from ?? 0),
    high: high?.to ?? Number.POSITIVE_INFINITY,
  }
}

/** Returns the bin with the value of this rank. Ranks start at 1. */
function binAt(bins: readonly Bin[], rank: number): Bin | undefined {
  let below = 0
  for (const bin of bins) {
    below += bin.count
    if (below >= rank) return bin
  }
  return undefined
}
