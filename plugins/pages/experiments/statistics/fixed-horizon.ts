// What a test with one look at its end takes: the plan that a stop is compared with. The usual normal approximation for two
// rates, with the level shared among the comparisons with the control. Pure.
import { normalQuantile } from "./distributions.ts"

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
