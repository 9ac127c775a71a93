// A confidence sequence for a rate, valid at all times, so daily looks are safe. The evidence against a rate is a Beta mixture of
// likelihood ratios, a martingale under that rate (Robbins 1970; Howard, Ramdas, McAuliffe and Sekhon, arXiv 1810.08240,
// "conjugate mixtures"). Exact from the first observation. Pure.
import { logBeta } from "./distributions.ts"

export interface Interval {
  readonly low: number
  readonly high: number
}

export interface Successes {
  readonly n: number
  readonly s: number
}

/** Jeffreys' prior. */
const prior = 0.5
const halvings = 44

/** Returns the logarithm of the evidence against the rate `p`. */
export function rateEvidence({ n, s }: Successes, p: number): number {
  const likelihood = (s === 0 ? 0 : s * Math.log(p)) + (s === n ? 0 : (n - s) * Math.log1p(-p))
  return logBeta(prior + s, prior + n - s) - logBeta(prior, prior) - likelihood
}

/** Contains the rate at all times with probability at least 1 - alpha. */
export function rateInterval(successes: Successes, alpha: number): Interval {
  const { n, s } = successes
  if (n === 0) return { low: 0, high: 1 }
  const bound = -Math.log(alpha)
  const isOut = (p: number) => rateEvidence(successes, p) >= bound
  const rate = s / n
  return { low: s === 0 ? 0 : edge(rate, 0, isOut), high: s === n ? 1 : edge(rate, 1, isOut) }
}

/** Returns the boundary between a point inside and a point outside, by bisection. */
export function edge(within: number, out: number, isOut: (point: number) => boolean): number {
  let [inside, outside] = [within, out]
  for (let halving = 0; halving < halvings; halving++) {
    const middle = (inside + outside) / 2
    if (middle === inside || middle === outside) break
    if (isOut(middle)) outside = middle
    else inside = middle
  }
  return outside
}
