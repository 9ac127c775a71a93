// Difference of two rates, valid at all times and with changing weights. Each visitor counts with the inverse probability of
// their variant, less the expected rate. The mean is the difference for any weights fixed before the visitor arrived. A bet
// against each hypothesis uses all stakes at once. Its capital is a martingale under the hypothesis, exact for any sample size
// (Waudby-Smith and Ramdas, arXiv 2010.09686; for changing weights Waudby-Smith, Wu, Ramdas, Karampatziakis and Mineiro, arXiv
// 2210.10768). Pure.
import { logSumExp } from "./distributions.ts"
import { edge, type Interval, type Successes } from "./rate.ts"

/** Visitors of the two variants with the same probability and the same expected rate. */
export interface ContrastGroup {
  /** Probability of the variant among the two. */
  readonly share: number
  /** Expected rate of both, fixed before the first of these visitors. */
  readonly expected: number
  readonly variant: Successes
  readonly control: Successes
}

/** Hypothesis: the variant's rate is `ratio` times the control's plus `difference`. */
interface Hypothesis {
  readonly ratio: number
  readonly difference: number
}

const stakes = Array.from({ length: 11 }, (_, place) => 2 ** -(place + 1))
const equal: Hypothesis = { ratio: 1, difference: 0 }
const maxRatio = 1e6
const maxFactor = 1e6

/** Returns the logarithm of each bet's capital: first bets on more, then bets on less. */
function capitals(groups: readonly ContrastGroup[], { ratio, difference }: Hypothesis): Float64Array {
  const result = new Float64Array(stakes.length * 2)
  for (const { share, expected, variant, control } of groups) {
    const mean = difference - expected * (1 - ratio)
    const remainder = 1 - share
    const worth = [(1 - expected) / share, -expected / share, (-ratio * (1 - expected)) / remainder, (ratio * expected) / remainder]
    const counts = [variant.s, variant.n - variant.s, control.s, control.n - control.s]
    const bound = Math.max(...worth.map((value) => Math.abs(value - mean)))
    for (const [kind, count] of counts.entries()) {
      if (count === 0) continue
      const gain = ((worth[kind] ?? 0) - mean) / bound
      for (let place = 0; place < stakes.length; place++) {
        const stake = stakes[place] as number
        result[place] = (result[place] as number) + count * Math.log1p(stake * gain)
        result[stakes.length + place] = (result[stakes.length + place] as number) + count * Math.log1p(-stake * gain)
      }
    }
  }
  return result
}

/** Returns the logarithm of the evidence against a hypothesis. Default: equal rates. */
export function contrastEvidence(groups: readonly ContrastGroup[], hypothesis: Hypothesis = equal): number {
  return logSumExp(capitals(groups, hypothesis)) - Math.log(stakes.length * 2)
}

/** Returns the rates under constant weights; undefined without visitors of both. */
export function weightedRates(groups: readonly ContrastGroup[]): { readonly variant: number; readonly control: number } | undefined {
  const sums = { variant: 0, variantAll: 0, control: 0, controlAll: 0 }
  for (const { share, variant, control } of groups) {
    sums.variant += variant.s / share
    sums.variantAll += variant.n / share
    sums.control += control.s / (1 - share)
    sums.controlAll += control.n / (1 - share)
  }
  if (sums.variantAll === 0 || sums.controlAll === 0) return undefined
  return { variant: sums.variant / sums.variantAll, control: sums.control / sums.controlAll }
}

/** Contains the difference of the rates at all times with probability at least 1 - alpha. */
export function differenceInterval(groups: readonly ContrastGroup[], alpha: number): Interval {
  const rates = weightedRates(groups)
  if (!rates) return { low: -1, high: 1 }
  const isOut = (difference: number) => contrastEvidence(groups, { ratio: 1, difference }) >= -Math.log(alpha)
  const observed = rates.variant - rates.control
  return { low: isOut(-1) ? edge(observed, -1, isOut) : -1, high: isOut(1) ? edge(observed, 1, isOut) : 1 }
}

/** The same for the ratio of the variant's rate to the control's. `high` is Infinity if the ratio is unbounded. */
export function ratioInterval(groups: readonly ContrastGroup[], alpha: number): Interval {
  const rates = weightedRates(groups)
  if (!rates) return { low: 0, high: Number.POSITIVE_INFINITY }
  const isOut = (ratio: number) => contrastEvidence(groups, { ratio, difference: 0 }) >= -Math.log(alpha)
  const observed = rates.control > 0 ? rates.variant / rates.control : rates.variant > 0 ? maxRatio : 1
  let above = Math.max(observed * 2, 1)
  while (above < maxRatio && !isOut(above)) above *= 2
  return {
    low: isOut(0) ? edge(observed, 0, isOut) : 0,
    high: above < maxRatio ? edge(observed, above, isOut) : Number.POSITIVE_INFINITY,
  }
}

/** Returns the factor by which visitors must grow to distinguish the two at the current trend; Infinity: no number suffices. */
export function factorToDecision(groups: readonly ContrastGroup[], alpha: number): number {
  const wealth = capitals(groups, equal)
  const bound = -Math.log(alpha) + Math.log(wealth.length)
  const isDecided = (factor: number) => logSumExp(wealth.map((capital) => capital * factor)) >= bound
  if (!isDecided(maxFactor)) return Number.POSITIVE_INFINITY
  return isDecided(1) ? 1 : edge(1, maxFactor, isDecided)
}
