// How likely each of several rates is the greatest, given a Beta distribution of each; by numeric integration, and so the same
// each time. Pure.
import { logBeta } from "./distributions.ts"

export interface BetaDistribution {
  readonly a: number
  readonly b: number
}

/** Of each distribution, on either side of its middle. */
const pointsEach = 250
/** Standard deviations that they reach over: more for a few observations, whose logit has a long tail. */
const reach = { many: 10, few: 40 }
const fewObservations = 5

/** In the order given; they add up to 1. */
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

/** Where any of the distributions is, close together where one is narrow. Rates are mostly small, so it is their logits. */
function logits(rates: readonly BetaDistribution[]): Float64Array {
  const all = rates.flatMap(({ a, b }) => {
    const step = (Math.sqrt(1 / a + 1 / b) * (Math.min(a, b) < fewObservations ? reach.few : reach.many)) / pointsEach
    return Array.from({ length: 2 * pointsEach + 1 }, (_, place) => Math.log(a / b) + (place - pointsEach) * step)
  })
  return Float64Array.from(new Set(all)).sort()
}

/** How much of the distribution falls to each point. */
function massesOf({ a, b }: BetaDistribution, points: Float64Array): Float64Array {
  const scale = logBeta(a, b)
  const masses = points.map((logit, at) => {
    const width = ((points[at + 1] ?? logit) - (points[at - 1] ?? logit)) / 2
    // The density of the logit, without loss where the rate is close to 0 or 1.
    return width * Math.exp(-a * Math.log1p(Math.exp(-logit)) - b * Math.log1p(Math.exp(logit)) - scale)
  })
  const total = masses.reduce((sum, mass) => sum + mass, 0)
  return total > 0 ? masses.map((mass) => mass / total) : masses
}

/** Half of a point's own counts as below it. */
function cumulated(masses: Float64Array): Float64Array {
  let sum = 0
  return masses.map((mass) => {
    sum += mass
    return sum - mass / 2
  })
}
