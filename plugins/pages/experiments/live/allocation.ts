// Weights by each variant's probability of being the best (Thompson, Biometrika 1933), with a minimum share.
// A tournament may supply a prior, worth a few conversions. Rates are computed as if the weights had never changed.
// Otherwise a variant with more visitors on a better day would look better. Pure.
import type { AllocationRule } from "../collections.ts"
import { type BetaDistribution, chancesOfBest } from "../statistics/best.ts"
import type { LiveCounts } from "./counts.ts"
import type { WeightSegment } from "./page-weights.ts"

/** Weight of a tournament's prior, in conversions of each variant. */
const priorConversions = 5
const steps = 1_000

export interface AllocationInput {
  readonly rule: AllocationRule
  readonly variantCount: number
  readonly counts: LiveCounts
  readonly segments: readonly WeightSegment[]
  /** Expected win rate of each variant against the others, from a tournament; absent without a tournament. */
  readonly scores?: readonly number[] | undefined
}

export interface Allocation {
  /** In thousandths, with a sum of 1. */
  readonly shares: readonly number[]
  readonly chances: readonly number[]
}

export function allocate({ rule, variantCount, counts, segments, scores }: AllocationInput): Allocation {
  const places = Array.from({ length: variantCount }, (_, place) => place)
  const views = places.map((place) => effective(counts, segments, place))
  const all = views.reduce((sum, view) => ({ n: sum.n + view.n, s: sum.s + view.s }), { n: 0, s: 0 })
  const pooled = (all.s + 0.5) / (all.n + 1)
  const chances = chancesOfBest(places.map((place) => distributionOf(views[place] ?? { n: 0, s: 0 }, pooled, scores?.[place])))
  return { chances, shares: rounded(chances.map((chance) => rule.floor + (1 - variantCount * rule.floor) * chance)) }
}

interface Seen {
  readonly n: number
  readonly s: number
}

/** Returns the visitors and conversions with the same variance as the weighted rate. */
function effective({ cells }: LiveCounts, segments: readonly WeightSegment[], place: number): Seen {
  const sums = { all: 0, n: 0, s: 0, weight: 0, squares: 0 }
  for (const { segment, variant, visitors, conversions } of cells) {
    const share = segments[segment]?.shares[place] ?? 0
    if (variant !== place || share <= 0) continue
    sums.n += visitors
    sums.weight += visitors / share
    sums.squares += visitors / share ** 2
    sums.s += Math.min(visitors, conversions) / share
  }
  if (sums.weight === 0) return { n: 0, s: 0 }
  const n = sums.weight ** 2 / sums.squares
  return { n, s: (n * sums.s) / sums.weight }
}

/** A score of 0.5 expects the overall rate, a score of 0 half of it, a score of 1 one and a half times. */
function distributionOf({ n, s }: Seen, pooled: number, score: number | undefined): BetaDistribution {
  if (score === undefined) return { a: 1 + s, b: 1 + n - s }
  const expected = Math.min(0.99, pooled * (0.5 + score))
  const visitors = priorConversions / Math.max(pooled, 1e-6)
  return { a: 0.5 + s + visitors * expected, b: 0.5 + n - s + visitors * (1 - expected) }
}

/** Rounds to thousandths by the largest remainders. */
function rounded(shares: readonly number[]): number[] {
  const scaled = shares.map((share) => share * steps)
  const whole = scaled.map(Math.floor)
  const remaining = steps - whole.reduce((sum, step) => sum + step, 0)
  const order = scaled
    .map((share, place) => ({ place, rest: share - Math.floor(share) }))
    .sort((item, right) => right.rest - item.rest || item.place - right.place)
  for (const { place } of order.slice(0, remaining)) whole[place] = (whole[place] ?? 0) + 1
  return whole.map((step) => step / steps)
}
