// Ranking of a panel: shared ranks, dropped variants, and intervals.
import { expect } from "chai"
import { panelRanking } from "../../../plugins/pages/experiments/panel/ranking.ts"

/** Per variant, each persona's points by draw. */
type Points = Readonly<Record<string, readonly (readonly (number | null)[])[]>>

function ranked(points: Points) {
  const cells = Object.entries(points).flatMap(([variant, personas]) =>
    personas.flatMap((draws, at) =>
      draws.map((value, draw) => ({ variant, persona: `p${at}`, draw, value, reason: `${variant} ${value}` })),
    ),
  )
  const personas = Object.values(points)[0]?.map((_draws, at) => `p${at}`) ?? []
  return panelRanking(cells, Object.keys(points), personas)
}
const ranks = ({ ranking }: ReturnType<typeof ranked>) => ranking.map(({ variant_key, rank }) => [variant_key, rank])

describe("the ranking of a panel", () => {
  it("gives variants one rank where their intervals overlap, and none of them is dropped", () => {
    const result = ranked({ a: [[2], [3], [4]], b: [[3], [4], [4]] })
    expect(ranks(result)).to.deep.equal([
      ["b", 1],
      ["a", 1],
    ])
    expect(result.kill_list).to.deep.equal([])
  })

  it("ranks apart what does not overlap, with places left out after a tie, and drops what is worse beyond chance", () => {
    const result = ranked({ low: [[1], [1.1], [1.2]], a: [[4.4], [4.5], [4.6]], b: [[4.5], [4.6], [4.7]] })
    expect(ranks(result)).to.deep.equal([
      ["b", 1],
      ["a", 1],
      ["low", 3],
    ])
    expect(result.kill_list.map(({ variant_key }) => variant_key)).to.include("low")
    expect(result.kill_list.find(({ variant_key }) => variant_key === "low")?.reason).to.match(/^3\.50 points below b over 3 personas\./)
  })

  it("takes personas as the sample, and a lone one's draws; failed cells count nowhere", () => {
    const many = ranked({ a: [[1, 5], [3, 3], [null]] })
    expect(many.ranking[0]?.score).to.equal(3)
    // Student's t with one degree of freedom, 12.706, exceeds the scale.
    expect(many.ranking[0]?.interval).to.deep.equal({ low: 1, high: 5 })
    expect(many.failed_cells).to.deep.equal([{ persona_slug: "p2", variant_key: "a", draw: 0, reason: "a null" }])
    const lone = ranked({ a: [[2, 4]] }).ranking[0]
    expect(lone?.score).to.equal(3)
    expect(lone?.interval).to.deep.equal({ low: 1, high: 5 })
    expect(ranked({ a: [[4]] }).ranking[0]?.interval).to.equal(null)
  })
  it("keeps every interval on the scale of the answers", () => {
    for (const points of [
      { a: [[1], [5]] },
      {
        a: [
          [1, 1],
          [2, 5],
        ],
        b: [[5], [4]],
      },
      { a: [[1.5], [1.6], [4.9]] },
    ]) {
      const { ranking, persona_scores } = ranked(points)
      for (const { interval } of [...ranking, ...persona_scores]) {
        expect(interval?.low ?? 1).to.be.at.least(1)
        expect(interval?.high ?? 5).to.be.at.most(5)
      }
    }
  })

  it("drops no variant that shares the leader's rank", () => {
    const result = ranked({ a: [[1], [3], [5]], b: [[0.8], [2.8], [4.8]], c: [[0.9], [2.9], [4.8]] })
    expect(ranks(result)).to.deep.equal([
      ["a", 1],
      ["c", 1],
      ["b", 1],
    ])
    expect(result.kill_list).to.deep.equal([])
  })
})
