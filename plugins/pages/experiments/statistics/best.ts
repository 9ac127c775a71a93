// Probability of each of several rates to be the greatest, from Beta distributions. Uses numeric integration, so results are
// reproducible. Pure.
import { logBeta } from "./distributions.ts"

export interface BetaDistribution {
  readonly a: number
  readonly b: number
}

/** Points per distribution, on either side of its centre. */
const pointsEach = 250
/** Range of the points in standard deviations. With few observations the logit has a long tail and needs more. */
const reach = { many: 10, few: 40 }
const fewObservations = 5

/** Returns probabilities in input order, with a sum of 1. */
export function chancesOfBest(rates: readonly BetaDistribution[]): number[] {
  const points = logits(rates)
  const masses = rates.map((rate) => massesOf(rate, points))
  const below = masses.map(cumulated)
  const raw = masses.map((mass, own) => {
    let sum = 0
    for (let at = 0; at < points.length; at++) {
      let chance = mass[at] as number
      for (let other = 0; other < rates.length; other++) if (other !== own) chance *= below[other]?.[at] as number
      sum += chance
    }
    return sum
  })
  const total = raw.reduce((sum, value) => sum + value, 0)
  return raw.map((value) => (total > 0 ? value / total : 1 / rates.length))
}

/** Returns points in the range of any distribution, dense near narrow distributions. Uses logits, since most rates are small. */
function logits(rates: readonly BetaDistribution[]): Float64Array {
  const all = rates.flatMap(({ a, b }) => {
    const step = (Math.sqrt(1 / a + 1 / b) * (Math.min(a, b) < fewObservations ? reach.few : reach.many)) / pointsEach
    return Array.from({ length: 2 * pointsEach + 1 }, (_, place) => Math.log(a / b) + (place - pointsEach) * step)
  })
  return Float64Array.from(new Set(all)).sort()
}

/** Returns the mass of the distribution at each point. */
function massesOf({ a, b }: BetaDistribution, points: Float64Array): Float64Array {
  const scale = logBeta(a, b)
  const masses = points.map((logit, at) => {
    const width = ((points[at + 1] ?? logit) - (points[at - 1] ?? logit)) / 2
    // Density of the logit, without loss of precision if the rate is close to 0 or 1.
    return width * Math.exp(-a * Math.log1p(Math.exp(-logit)) - b * Math.log1p(Math.exp(logit)) - scale)
  })
  const total = masses.reduce((sum, mass) => sum + mass, 0)
  return total > 0 ? masses.map((mass) => mass / total) : masses
}

/** Half of a point's own mass counts as below it. */
function cumulated(masses: Float64Array): Float64Array {
  let sum = 0
  return masses.map((mass) => {
    sum += mass
    return sum - mass / 2
  })
}
