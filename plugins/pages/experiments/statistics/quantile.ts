// A confidence sequence for a quantile, from a histogram. Of a true quantile the number of values at or below it is that of
// successes at its level, so the ranks that the mixture of rate.ts does not refute hold it at all times at once (Howard and
// Ramdas, arXiv 1906.09712). Bounds are edges of bins, taken outwards. Pure.
import { edge, type Interval, rateEvidence } from "./rate.ts"

/** Values of a bin lie from `from` up to `to`. Bins are in order, and do not overlap. */
export interface Bin {
  readonly from: number
  readonly to: number
  readonly count: number
}

export interface QuantileEstimate extends Interval {
  readonly n: number
  /** The middle of its bin; undefined without values. */
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

/** That of the value of this rank, the first being 1. */
function binAt(bins: readonly Bin[], rank: number): Bin | undefined {
  let below = 0
  for (const bin of bins) {
    below += bin.count
    if (below >= rank) return bin
  }
  return undefined
}
