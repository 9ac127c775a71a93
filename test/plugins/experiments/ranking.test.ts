// The ranking mathematics, compared with published results, the models' own equations, and a known truth.
import { expect } from "chai"
import fc from "fast-check"
import type { Comparison } from "../../../plugins/pages/experiments/statistics/ranking/comparisons.ts"
import { type Fit, fitRanking } from "../../../plugins/pages/experiments/statistics/ranking/fit.ts"
import type { RankingModel } from "../../../plugins/pages/experiments/statistics/ranking/strengths.ts"
import { randomFrom } from "../../random.ts"

/**
 * Seven teams of the American League's East, 1987, each pair 13 times (Agresti, Categorical Data Analysis, 1990, table 10.10).
 */
const teams = ["Milwaukee", "Detroit", "Toronto", "New York", "Boston", "Cleveland", "Baltimore"]
const wins = [
  [0, 7, 9, 7, 7, 9, 11],
  [6, 0, 7, 5, 11, 9, 9],
  [4, 6, 0, 7, 7, 8, 12],
  [6, 8, 6, 0, 6, 7, 10],
  [6, 2, 6, 7, 0, 7, 12],
  [4, 4, 5, 6, 6, 0, 6],
  [2, 4, 1, 3, 1, 7, 0],
]
const baseball: Comparison[] = teams.flatMap((a, row) =>
  teams.flatMap((b, column) => {
    const count = wins[row]?.[column] ?? 0
    return count > 0 ? [{ a, b, winner: "a" as const, count }] : []
  }),
)

const strengthIn = (fit: Fit, key: string) => fit.ranking.find((entry) => entry.key === key)?.strength ?? Number.NaN

/** Quantities equal at the most likely parameters: half-wins of each key, and ties, as observed and as expected by the model. */
function sufficient(comparisons: readonly Comparison[], fit: Fit, model: RankingModel) {
  const [visited, expected] = [new Map<string, number>(), new Map<string, number>()]
  const count = (into: Map<string, number>, what: string, value: number) => into.set(what, (into.get(what) ?? 0) + value)
  for (const { a, b, winner, count: times } of comparisons) {
    const ratio = Math.exp((strengthIn(fit, a) - strengthIn(fit, b)) / 2)
    const v = fit.tie_parameter ?? 0
    const sum = ratio + 1 / ratio + v
    for (const [key, wins] of [
      [a, ratio / sum],
      [b, 1 / ratio / sum],
    ] as const) {
      count(expected, key, times * (wins + v / sum / 2))
      count(visited, key, winner === "tie" ? times / 2 : key === (winner === "a" ? a : b) ? times : 0)
    }
    if (model === "bradley-terry") continue
    count(expected, "ties", (times * v) / sum)
    count(visited, "ties", winner === "tie" ? times : 0)
  }
  return { seen: visited, expected }
}

describe("ranking", () => {
  it("is uncertain of what was tied alone, as a whole and in a part", () => {
    const tied = (a: string, b: string) => ({ a, b, winner: "tie" as const, count: 5 })
    const ties = [tied("x", "y"), tied("y", "z"), tied("x", "z")]
    for (const model of ["bradley-terry", "davidson"] as const) {
      const alone = fitRanking(ties, model)
      expect(alone.converged).to.equal(true)
      for (const { strength, se } of alone.ranking) {
        expect(strength).to.be.closeTo(0, 1e-9)
        expect(se).to.be.within(0.3, 0.6)
      }
      const beside = [...ties, { a: "x", b: "y", winner: "a" as const, count: 3 }, { a: "x", b: "y", winner: "b" as const, count: 2 }]
      for (const { key, se } of fitRanking(beside, model).ranking) expect(se, key).to.be.greaterThan(0.2)
    }
  })

  it("gives the strengths that are published for the baseball teams of 1987", () => {
    const fit = fitRanking(baseball, "bradley-terry")
    const published = [1.581, 1.436, 1.294, 1.248, 1.108, 0.684, 0]
    const aboveBaltimore = teams.map((team) => strengthIn(fit, team) - strengthIn(fit, "Baltimore"))
    for (const [at, value] of published.entries()) expect(aboveBaltimore[at], teams[at]).to.be.closeTo(value, 0.0006)
    expect(fit).to.include({ converged: true, regularised: false })
    expect(fit.ranking.map(({ key }) => key)).to.deep.equal(teams)
    expect(fit.ranking.map(({ rank }) => rank)).to.deep.equal([1, 2, 3, 4, 5, 6, 7])
  })

  for (const model of ["bradley-terry", "davidson"] as const) {
    it(`meets the equations of the most likely strengths, with any data (${model})`, () => {
      const comparison = fc.record({
        a: fc.constantFrom("a", "b", "c", "d"),
        b: fc.constantFrom("e", "f", "g", "a2"),
        winner: fc.constantFrom("a" as const, "b" as const, "tie" as const),
        count: fc.integer({ min: 1, max: 30 }),
      })
      // A ring in which each key beats the next: finite strengths exist.
      const ring = ["a", "b", "c", "d", "e", "f", "g", "a2"]
      const round = ring.map((a, at) => ({ a, b: ring[(at + 1) % ring.length] as string, winner: "a" as const, count: 1 }))
      fc.assert(
        fc.property(fc.array(comparison, { maxLength: 40 }), (some) => {
          const inputs = [...round, ...some]
          const fit = fitRanking(inputs, model)
          expect(fit).to.include({ converged: true, regularised: false })
          expect(fit.ranking.reduce((sum, entry) => sum + entry.strength, 0)).to.be.closeTo(0, 1e-9)
          const { seen: visited, expected } = sufficient(inputs, fit, model)
          expect([...visited.keys()]).to.have.members([...expected.keys()])
          for (const [what, value] of visited) expect(expected.get(what), what).to.be.closeTo(value, 1e-6)
        }),
        { numRuns: 60, seed: 1 },
      )
    })
  }

  it("says where no finite strengths exist, and still ranks", () => {
    const unbeaten = fitRanking(
      [
        { a: "x", b: "y", winner: "a", count: 3 },
        { a: "y", b: "z", winner: "a", count: 3 },
      ],
      "bradley-terry",
    )
    expect(unbeaten).to.include({ converged: true, regularised: true })
    expect(unbeaten.ranking.map(({ key }) => key)).to.deep.equal(["x", "y", "z"])
    const apart = fitRanking(
      [
        { a: "a", b: "b", winner: "tie", count: 2 },
        { a: "c", b: "d", winner: "tie", count: 2 },
      ],
      "bradley-terry",
    )
    expect(apart.regularised).to.equal(true)
    expect(apart.ranking.map(({ rank }) => rank)).to.deep.equal([1, 1, 1, 1])
    for (const { strength, se } of apart.ranking) {
      expect(strength).to.be.closeTo(0, 1e-9)
      expect(se).to.be.greaterThan(0.3)
    }
  })

  it("counts ties as half wins in the one model and as ties in the other", () => {
    const ties: Comparison[] = [...baseball, ...teams.slice(1).map((b) => ({ a: "Milwaukee", b, winner: "tie" as const, count: 6 }))]
    const halves = fitRanking(ties, "bradley-terry")
    const davidson = fitRanking(ties, "davidson")
    expect(halves.tie_parameter).to.equal(undefined)
    expect(davidson.tie_parameter).to.be.greaterThan(0)
    expect(strengthIn(davidson, "Milwaukee"))
      .to.be.greaterThan(strengthIn(halves, "Milwaukee") - 1)
      .and.not.equal(strengthIn(halves, "Milwaukee"))
    expect(fitRanking(baseball, "davidson").tie_parameter).to.equal(undefined)
  })

  it("gives scores that are the win rates which were seen where each met each equally often", () => {
    const fit = fitRanking(baseball, "bradley-terry")
    for (const [row, team] of teams.entries()) {
      const won = (wins[row] ?? []).reduce((sum, value) => sum + value, 0)
      expect(fit.ranking.find(({ key }) => key === team)?.score, team).to.be.closeTo(won / 78, 1e-8)
    }
  })

  it("has intervals that hold the truth 93 to 97 times in a hundred", () => {
    const random = randomFrom(7)
    const truth = [0.9, 0.4, 0, -0.3, -1]
    let [held, all] = [0, 0]
    for (let run = 0; run < 400; run++) {
      const comparisons = Array.from({ length: 400 }, (): Comparison => {
        const value = Math.floor(random() * truth.length)
        const other = (value + 1 + Math.floor(random() * (truth.length - 1))) % truth.length
        const chance = 1 / (1 + Math.exp((truth[other] ?? 0) - (truth[value] ?? 0)))
        return { a: String(value), b: String(other), winner: random() < chance ? "a" : "b", count: 1 }
      })
      for (const { key, strength, se } of fitRanking(comparisons, "bradley-terry").ranking) {
        all++
        if (Math.abs(strength - (truth[Number(key)] ?? 0)) <= 1.96 * se) held++
      }
    }
    expect(held / all).to.be.within(0.93, 0.97)
  })
})
