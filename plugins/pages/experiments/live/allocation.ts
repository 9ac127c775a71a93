// Weights by how likely each variant is the best (Thompson, Biometrika 1933): the shares of a page's visitors, never below the
// floor. What is known before any visitor may come from a tournament, and counts as a few conversions do. Rates are taken as if
// the weights had never changed, so that a variant does not look better for having had more visitors on a better day. Pure.
import type { AllocationRule } from "../collections.ts"
import { type BetaDistribution, chancesOfBest } from "../statistics/best.ts"
import type { LiveCounts } from "./counts.ts"
import type { WeightSegment } from "./page-weights.ts"

/** What a tournament is worth, in conversions of each variant. */
const priorConversions = 5
const steps = 1_000

export interface AllocationInput {
  readonly rule: AllocationRule
  readonly variantCount: number
  readonly counts: LiveCounts
  readonly segments: readonly WeightSegment[]
  /** Expected win rate of each variant against the others, from a tournament; absent: there was none. */
  readonly scores?: readonly number[] | undefined
}

export interface Allocation {
  /** In thousandths that add up to 1. */
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

/** Visitors and conversions that the weighted rate is worth: as many as have its variance. */
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

/** A score of one half expects the rate of all; of 0 half of it, of 1 one and a half. */
function distributionOf({ n, s }: Seen, pooled: number, score: number | undefined): BetaDistribution {
  if (score === undefined) return { a: 1 + s, b: 1 + n - s }
  const expected = Math.min(0.99, pooled * (0.5 + score))
  const visitors = priorConversions / Math.max(pooled, 1e-6)
  return { a: 0.5 + s + visitors * expected, b: 0.5 + n - s + visitors * (1 - expected) }
}

/** To thousandths, by the largest remainders. */
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
