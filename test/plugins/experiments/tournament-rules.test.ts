// The rules of tournaments against a known truth: the next pair, the time of naming a leader, and equal texts.
import { expect } from "chai"
import { fitStrengths } from "../../../plugins/pages/experiments/statistics/ranking/fit.ts"
import { mergesOf, shingleSimilarity } from "../../../plugins/pages/experiments/tournament/clusters.ts"
import { currentStanding, evidence } from "../../../plugins/pages/experiments/tournament/stop.ts"
import { randomFrom } from "../../random.ts"
import { play } from "./simulated-tournament.ts"

describe("tournament rules", () => {
  it("name a leader among equals in at most one tournament of twenty, though they look after every round", () => {
    const random = randomFrom(11)
    const runs = 150
    const wrong = Array.from({ length: runs }, () => play([0, 0, 0], { maxRounds: 100, random })).filter(
      ({ outcome }) => outcome === "leader",
    ).length
    expect(wrong / runs).to.be.at.most(0.05)
  })

  it("name the right leader where there is one, mostly before the bound", () => {
    const random = randomFrom(12)
    const played = Array.from({ length: 40 }, () => play([2, 0, -0.5], { maxRounds: 250, random }))
    const matches = played.filter(({ outcome }) => outcome === "leader")
    expect(matches.length).to.be.at.least(36)
    expect(matches.filter(({ leader }) => leader === "0")).to.have.length(matches.length)
  })

  it("rank better with chosen pairs than with pairs at random", () => {
    const truth = [1.5, 1, 0.5, 0, -0.5, -1]
    const agreement = (chosen: boolean) => {
      const random = randomFrom(13)
      const runs = Array.from({ length: 40 }, () => play(truth, { maxRounds: 40, random, chosen }))
      return runs.reduce((sum, { order }) => sum + order.filter((key, place) => key === String(place)).length, 0)
    }
    expect(agreement(true)).to.be.greaterThan(agreement(false))
  })

  it("call the rest equal within the caller's margin, and say what a decision needs otherwise", () => {
    const random = randomFrom(14)
    expect(play([0, 0], { maxRounds: 2_000, random, equalMargin: 0.2 }).outcome).to.equal("equal")
    const even = Array.from({ length: 20 }, (_, place) => ({ first: "a", second: "b", value: place < 11 ? 1 : 0 }))
    const comparisons = even.map(({ first, second, value }) => ({
      a: first,
      b: second,
      winner: value === 1 ? ("a" as const) : ("b" as const),
      count: 1,
    }))
    const fitted = fitStrengths(comparisons, "bradley-terry", { regularise: true })
    const { outcome, roundsNeeded } = currentStanding(fitted, even, { alpha: 0.05, equalMargin: 0 })
    expect(outcome).to.equal("undecided")
    expect(roundsNeeded).to.be.greaterThan(200)
  })

  it("hold the bet against an even judge to what it began with, and let it grow with wins alone", () => {
    expect(evidence([])).to.be.closeTo(1, 1e-9)
    expect(evidence([0.5, 0.5, 0.5])).to.be.closeTo(1, 1e-9)
    // Mixed over all stakes, n wins grow to (2^(n+1) - 1) / (n + 1).
    expect(evidence(Array.from({ length: 8 }, () => 1))).to.be.closeTo(511 / 9, 0.1)
    expect(evidence([0, 0, 0])).to.be.lessThan(0.3)
  })

  it("merge what reads the same, and nothing else", () => {
    const text = "Save an hour a day with software that reads your invoices and books them for you while you sleep"
    const texts = new Map([
      ["a", text],
      ["copy", ` ${text}! `],
      ["other", "We are a leading provider of solutions for the enterprise of today"],
    ])
    expect(mergesOf(texts, "shingles", shingleSimilarity)).to.deep.equal([
      { merged_key: "copy", method: "shingles", representative_key: "a", similarity: 1 },
    ])
  })
})
