// Claims of live evidence, tested on simulated experiments with a known truth and daily looks.
import { expect } from "chai"
import { chancesOfBest } from "../../../plugins/pages/experiments/statistics/best.ts"
import { differenceInterval, factorToDecision, ratioInterval } from "../../../plugins/pages/experiments/statistics/contrast.ts"
import { fixedHorizonVisitors, logBeta, logGamma, normalQuantile } from "../../../plugins/pages/experiments/statistics/distributions.ts"
import { quantileInterval } from "../../../plugins/pages/experiments/statistics/quantile.ts"
import { rateInterval } from "../../../plugins/pages/experiments/statistics/rate.ts"
import { ratioEvidence } from "../../../plugins/pages/experiments/statistics/sample-ratio.ts"
import { byTier } from "../../tier.ts"
import { errorsOf, plannedTest, quantileMissed } from "./simulated-experiments.ts"

const groupOf = (nv: number, sv: number, nc: number, sc: number, share = 0.5, expected = 0.05) => ({
  share,
  expected,
  variant: { n: nv, s: sv },
  control: { n: nc, s: sc },
})

/** Experiments with weights by the evidence, the slowest ones. */
const simulated = byTier({ fast: 20, slow: 60, soak: 60 })

describe("statistics of live evidence", () => {
  it("seldom tells apart what is alike, however often it is looked at, where a test a day often does", () => {
    const errors = errorsOf({ days: 28, visitorsPerDay: 200, rates: [0.05, 0.05], weekends: true }, 150, 1)
    expect(errors.verdict).to.be.at.most(0.05)
    expect(errors.naiveVerdict).to.be.greaterThan(0.15)
    expect(errors.ratioAlarm).to.be.at.most(0.01)
  })

  it("has intervals that hold the truth on all days at once, and finds a difference that is there", () => {
    const errors = errorsOf({ days: 28, visitorsPerDay: 400, rates: [0.05, 0.08] }, 100, 2)
    expect(errors.differenceMissed).to.be.at.most(0.05)
    expect(errors.rateMissed).to.be.at.most(2 * 0.05)
    expect(errors).to.include({ verdict: 1, wrongVerdict: 0 })
    // A test with one look needs 2,120 visitors for an even chance of a decision.
    expect(errors.meanDays * 400).to.be.below(2 * 2_120)
  })

  it("holds while the weights follow the evidence, with several variants and days that differ", () => {
    const errors = errorsOf({ days: 21, visitorsPerDay: 200, rates: [0.1, 0.1, 0.1], weekends: true, thompson: true }, simulated, 3)
    expect(errors.verdict).to.be.at.most(0.05)
    expect(errors.ratioAlarm).to.be.at.most(0.01)
  })

  it("alarms where a variant loses visitors, within days", () => {
    expect(errorsOf({ days: 10, visitorsPerDay: 400, rates: [0.1, 0.1], lost: 0.15 }, 60, 4).ratioAlarm).to.be.at.least(0.85)
    expect(Math.exp(-ratioEvidence([{ counts: [20, 0], shares: [0.5, 0.5] }]))).to.be.below(0.01)
    // Visitors of a variant without a weight come from before.
    expect(ratioEvidence([{ counts: [100, 5], shares: [1, 0] }])).to.be.at.most(0)
  })

  it("has intervals of percentiles that hold the truth on all days at once", () => {
    expect(quantileMissed(150, 5)).to.be.at.most(0.05)
    expect(quantileInterval([], 0.75, 0.05)).to.deep.equal({ n: 0, value: undefined, low: 0, high: Number.POSITIVE_INFINITY })
    const thousand = Array.from({ length: 1_000 }, (_, from) => ({ from, to: from + 1, count: 1 }))
    const { low, high, value } = quantileInterval(thousand, 0.75, 0.05)
    expect(value).to.equal(749.5)
    expect(low).to.be.within(680, 720)
    expect(high).to.be.within(780, 820)
  })

  it("plans tests of a fixed size that have the power and the error that they say", () => {
    // From textbooks: about 31,234 of each to distinguish 5 % from 5.5 %.
    expect(fixedHorizonVisitors({ baselineRate: 0.05, relativeEffect: 0.1, alpha: 0.05, power: 0.8, shares: [0.5, 0.5] })).to.be.within(
      62_400,
      62_500,
    )
    expect(fixedHorizonVisitors({ baselineRate: 0, relativeEffect: 0.1, alpha: 0.05, power: 0.8, shares: [0.5, 0.5] })).to.equal(undefined)
    expect(fixedHorizonVisitors({ baselineRate: 0.6, relativeEffect: 1, alpha: 0.05, power: 0.8, shares: [0.5, 0.5] })).to.equal(undefined)
    const { power, error } = plannedTest(200, 6)
    expect(power).to.be.within(0.75, 0.86)
    expect(error).to.be.at.most(0.08)
  })

  it("is exact at the edges: nobody, everybody, and weights that are far apart", () => {
    expect(rateInterval({ n: 0, s: 0 }, 0.05)).to.deep.equal({ low: 0, high: 1 })
    expect(rateInterval({ n: 5, s: 5 }, 0.05).high).to.equal(1)
    expect(rateInterval({ n: 5, s: 0 }, 0.05).low).to.equal(0)
    expect(differenceInterval([], 0.05)).to.deep.equal({ low: -1, high: 1 })
    expect(ratioInterval([groupOf(100, 0, 100, 0)], 0.05)).to.deep.equal({ low: 0, high: Number.POSITIVE_INFINITY })
    const far = differenceInterval([groupOf(9_500, 950, 500, 50, 0.95)], 0.05)
    expect(far.low).to.be.below(0)
    expect(far.high).to.be.above(0)
    expect(far.high - far.low).to.be.below(0.2)
    // With many visitors both agree: a tenth more, and about 0.005.
    const many = [groupOf(500_000, 27_500, 500_000, 25_000)]
    const [difference, ratio] = [differenceInterval(many, 0.05), ratioInterval(many, 0.05)]
    expect([difference.low, difference.high].every((bound) => Math.abs(bound - 0.005) < 0.002)).to.equal(true)
    expect([ratio.low, ratio.high].every((bound) => Math.abs(bound - 1.1) < 0.04)).to.equal(true)
  })

  it("says how much more it takes by what it has seen", () => {
    const observed = groupOf(5_000, 275, 5_000, 250)
    const factor = factorToDecision([observed], 0.05)
    const times = (by: number) => [groupOf(5_000 * by, 275 * by, 5_000 * by, 250 * by)]
    expect(factor).to.be.greaterThan(1)
    expect(differenceInterval(times(factor * 1.02), 0.05).low).to.be.above(0)
    expect(differenceInterval(times(factor * 0.98), 0.05).low).to.be.below(0)
    expect(factorToDecision([groupOf(1_000, 50, 1_000, 50)], 0.05)).to.equal(Number.POSITIVE_INFINITY)
    expect(factorToDecision([groupOf(1_000, 300, 1_000, 50)], 0.05)).to.equal(1)
  })

  it("knows how likely each is the best, and special functions", () => {
    for (const [item, other] of [
      [
        { a: 10, b: 100 },
        { a: 20, b: 100 },
      ],
      [
        { a: 3, b: 70 },
        { a: 2, b: 90 },
      ],
      [
        { a: 1, b: 1_001 },
        { a: 1, b: 11 },
      ],
    ] as const) {
      const [first = 0, second = 0] = chancesOfBest([item, other])
      expect(first + second).to.be.closeTo(1, 1e-12)
      expect(second).to.be.closeTo(chanceAbove(other, item), 0.0005)
    }
    // With a million visitors each: normal, 0.646 standard deviations apart.
    const [, narrow] = chancesOfBest([
      { a: 50_001, b: 950_001 },
      { a: 50_200, b: 949_800 },
    ])
    expect(narrow).to.be.closeTo(0.741, 0.001)
    for (const chance of chancesOfBest(Array.from({ length: 4 }, () => ({ a: 3, b: 70 })))) expect(chance).to.be.closeTo(0.25, 1e-9)
    expect(logGamma(5)).to.be.closeTo(Math.log(24), 1e-12)
    expect(logGamma(0.5)).to.be.closeTo(Math.log(Math.PI) / 2, 1e-12)
    expect(logBeta(2, 3)).to.be.closeTo(Math.log(1 / 12), 1e-12)
    expect(normalQuantile(0.975)).to.be.closeTo(1.959963985, 1e-8)
  })
})

/** Exact for integers: the probability that the first rate is above the second. */
function chanceAbove(first: { a: number; b: number }, second: { a: number; b: number }): number {
  return Array.from({ length: first.a }, (_, place) =>
    Math.exp(
      logBeta(second.a + place, first.b + second.b) - Math.log(first.b + place) - logBeta(1 + place, first.b) - logBeta(second.a, second.b),
    ),
  ).reduce((sum, term) => sum + term, 0)
}
