// What a test with one look at its end takes: the plan that a stop is compared with. The usual normal approximation for two
// rates, with the level shared among the comparisons with the control. Pure.

export interface FixedHorizonPlan {
  readonly baselineRate: number
  /** The smallest difference that it is to find, as a share of the baseline. */
  readonly relativeEffect: number
  readonly alpha: number
  readonly power: number
  /** Of visitors, the control first. */
  readonly shares: readonly number[]
}

/** Visitors of all variants together; undefined where no number of them would do. */
export function fixedHorizonVisitors({ baselineRate, relativeEffect, alpha, power, shares }: FixedHorizonPlan): number | undefined {
  const [control = 0, ...others] = shares
  const changed = baselineRate * (1 + relativeEffect)
  const least = Math.min(...others)
  if (!(baselineRate > 0 && changed > 0 && changed < 1 && relativeEffect !== 0 && control > 0 && least > 0)) return undefined
  const z = normalQuantile(1 - alpha / (2 * others.length)) + normalQuantile(power)
  const variance = (baselineRate * (1 - baselineRate)) / control + (changed * (1 - changed)) / least
  return Math.ceil((z * z * variance) / (changed - baselineRate) ** 2)
}

/** Of the standard normal distribution, by bisection of its distribution function. */
export function normalQuantile(level: number): number {
  let [low, high] = [-10, 10]
  for (let halving = 0; halving < 60; halving++) {
    const middle = (low + high) / 2
    if (normalBelow(middle) < level) low = middle
    else high = middle
  }
  return (low + high) / 2
}

/** Marsaglia's series; exact to the last digits within ten standard deviations. */
function normalBelow(x: number): number {
  let [sum, term] = [x, x]
  for (let place = 3; Math.abs(term) > 1e-17 * Math.abs(sum) && place < 400; place += 2) {
    term *= (x * x) / place
    sum += term
  }
  return 0.5 + (sum * Math.exp(-0.5 * x * x)) / Math.sqrt(2 * Math.PI)
}
