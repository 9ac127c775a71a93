// Tests whether the split of visitors matches the weights: a multinomial test, valid at every look from the first visitor on. The
// evidence is the mean of two mixtures of likelihood ratios. Each is a martingale under the weights. The first mixture is over
// Dirichlet priors around the weights and restarts with each period of constant weights (Lindon and Malek, "Anytime-valid
// inference for multinomial count data", arXiv 2011.03567). The second is over tilts of one variant across all periods. By
// Ville's inequality the evidence reaches 1/alpha with probability at most alpha. Pure.
import { logGamma, logSumExp } from "./distributions.ts"

/** Visitors by variant in a period of constant weights, and the intended shares. The shares add up to 1. */
export interface RatioSegment {
  readonly counts: readonly number[]
  readonly shares: readonly number[]
}

/** Concentrations of the Dirichlet priors. Larger values detect smaller deviations. */
const concentrations = [10, 100, 1_000, 10_000]
const tilts = [0.64, 0.32, 0.16, 0.08, 0.04, 0.02, 0.01].flatMap((tilt) => [tilt, -tilt])

/** Returns the logarithm of the evidence against the weights. */
export function ratioEvidence(segments: readonly RatioSegment[]): number {
  const reachableSegments = segments.map(reachable)
  const dirichlet = concentrations.map((scale) => reachableSegments.reduce((sum, segment) => sum + dirichletEvidence(segment, scale), 0))
  const width = Math.max(0, ...reachableSegments.map(({ counts }) => counts.length))
  const tilted = Array.from({ length: width }, (_, place) => tilts.map((tilt) => tiltEvidence(reachableSegments, place, tilt))).flat()
  return logSumExp([mean(dirichlet), mean(tilted)]) - Math.log(2)
}

function mean(logarithms: readonly number[]): number {
  return logarithms.length === 0 ? 0 : logSumExp(logarithms) - Math.log(logarithms.length)
}

/** Drops visitors of variants without a weight. They come from earlier periods and say nothing about the other shares. */
function reachable({ counts, shares }: RatioSegment): RatioSegment {
  return { shares, counts: counts.map((count, place) => ((shares[place] ?? 0) > 0 ? count : 0)) }
}

function dirichletEvidence({ counts, shares }: RatioSegment, scale: number): number {
  const total = counts.reduce((sum, count) => sum + count, 0)
  let evidence = logGamma(scale) - logGamma(scale + total)
  for (const [place, count] of counts.entries()) {
    const share = shares[place] ?? 0
    if (share <= 0 || count === 0) continue
    evidence += logGamma(scale * share + count) - logGamma(scale * share) - count * Math.log(share)
  }
  return evidence
}

function tiltEvidence(segments: readonly RatioSegment[], place: number, tilt: number): number {
  return segments.reduce((sum, { counts, shares }) => {
    const share = shares[place] ?? 0
    const total = counts.reduce((all, count) => all + count, 0)
    return sum + tilt * (counts[place] ?? 0) - total * Math.log1p(share * Math.expm1(tilt))
  }, 0)
}
