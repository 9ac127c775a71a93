// Logarithms of the gamma and beta functions and of sums, and quantiles of distributions. Probabilities of many observations
// are too small for numbers, so code adds their logarithms.
/// <reference path="./jstat.d.ts" />
import jstat from "jstat"

const { gammaln, betaln, normal, studentt } = jstat.jStat

export { betaln as logBeta, gammaln as logGamma }

/** Quantile of the standard normal distribution. */
export function normalQuantile(level: number): number {
  return normal.inv(level, 0, 1)
}

/** Quantile of Student's t distribution for a two-sided 95 % interval. Counts fewer than one degree of freedom as one. */
export function studentT(degrees: number): number {
  return studentt.inv(0.975, Math.max(degrees, 1))
}

/** The logarithm of the sum of exponentials; -Infinity without values. */
export function logSumExp(values: ArrayLike<number>): number {
  let max = Number.NEGATIVE_INFINITY
  for (let place = 0; place < values.length; place++) max = Math.max(max, values[place] as number)
  if (!Number.isFinite(max)) return max
  let sum = 0
  for (let place = 0; place < values.length; place++) sum += Math.exp((values[place] as number) - max)
  return max + Math.log(sum)
}

// Sample size of a test with a single look at its end, for comparison with a stop. Uses the normal approximation for two rates.
// The level is shared by the comparisons with the control. Pure.

interface FixedHorizonPlan {
  readonly baselineRate: number
  /** The smallest detectable difference, relative to the baseline. */
  readonly relativeEffect: number
  readonly alpha: number
  readonly power: number
  /** Shares of visitors, the control first. */
  readonly shares: readonly number[]
}

/** Returns the visitors of all variants in total; undefined if no number suffices. */
export function fixedHorizonVisitors({ baselineRate, relativeEffect, alpha, power, shares }: FixedHorizonPlan): number | undefined {
  const [control = 0, ...others] = shares
  const changed = baselineRate * (1 + relativeEffect)
  const least = Math.min(...others)
  if (!(baselineRate > 0 && changed > 0 && changed < 1 && relativeEffect !== 0 && control > 0 && least > 0)) return undefined
  const z = normalQuantile(1 - alpha / (2 * others.length)) + normalQuantile(power)
  const variance = (baselineRate * (1 - baselineRate)) / control + (changed * (1 - changed)) / least
  return Math.ceil((z * z * variance) / (changed - baselineRate) ** 2)
}
