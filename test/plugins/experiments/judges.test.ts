// Cards of judges against a known truth: the bias of simulated judges is detected, and intervals cover it.
import { expect } from "chai"
import type { StoredObservation } from "../../../plugins/pages/experiments/collections.ts"
import { calibrationOf, kendall, type Prediction } from "../../../plugins/pages/experiments/judges/calibration.ts"
import { healthOf, type JudgeHealth } from "../../../plugins/pages/experiments/judges/health.ts"
import { type Share, shareOf } from "../../../plugins/pages/experiments/statistics/shares.ts"
import { randomFrom } from "../../random.ts"

interface Bias {
  /** Log-odds in favour of the page shown first. */
  readonly first?: number
  /** Log-odds in favour of the longer page. */
  readonly longer?: number
  /** Spread of the pages' qualities, as log-odds. */
  readonly quality?: number
  /** Probability of a refusal. */
  readonly declines?: number
}

const logistic = (odds: number) => 1 / (1 + Math.exp(-odds))

/** Ledger entries of a judge with this bias: `pairs` pairs of pages, each judged `rounds` times in both seats. */
function judged(bias: Bias, { pairs, rounds, random }: { pairs: number; rounds: number; random: () => number }): StoredObservation[] {
  const { first = 0, longer = 0, quality = 0, declines = 0 } = bias
  return Array.from({ length: pairs }, (_, pair) => {
    const better = (random() + random() + random() - 1.5) * 2 * quality
    const [a, b] = [`a${pair}`, `b${pair}`]
    const characters = { [a]: 100 + Math.floor(random() * 1_000), [b]: 100 + Math.floor(random() * 1_000) }
    const forLonger = Math.sign((characters[a] ?? 0) - (characters[b] ?? 0)) * longer
    const seat = (shown_as_a: string, other: string) => {
      if (random() < declines) return { shown_as_a, winner: "", failed: "model_declined" }
      const odds = (better + forLonger) * (shown_as_a === a ? 1 : -1) + first
      return { shown_as_a, winner: random() < logistic(odds) ? shown_as_a : other }
    }
    return Array.from({ length: rounds }, () => {
      const seats = [seat(a, b), seat(b, a)]
      const wins = seats.filter(({ winner }) => winner === a).length / 2
      const first_value = seats.some(({ winner }) => winner === "") ? null : wins
      return comparison({
        first: a,
        second: b,
        first_value,
        seats,
        shown: { [a]: { characters: characters[a] }, [b]: { characters: characters[b] } },
      })
    })
  }).flat()
}

function comparison(details: object): StoredObservation {
  return {
    id: "0190a000-0000-7000-8000-000000000001",
    kind: "comparison",
    experiment_id: "e",
    experiment_slug: "e",
    variant_key: "",
    other_variant_key: "",
    judge_slug: "model:judge@judge-v1",
    value: 1,
    reason: "",
    details: details as StoredObservation["details"],
    run_id: "r",
    created_at: "2026-01-01T00:00:00.000Z",
  }
}

const holds = ({ low, high }: Share, truth: number) => low <= truth && truth <= high

/** Returns the coverage of a figure's interval over simulated judges. */
function coverage(bias: Bias, figure: keyof JudgeHealth, truth: number, { pairs = 40, rounds = 3, runs = 300, seed = 1 } = {}): number {
  const random = randomFrom(seed)
  let coveredCount = 0
  for (let run = 0; run < runs; run++) if (holds(healthOf(judged(bias, { pairs, rounds, random }))[figure] as Share, truth)) coveredCount++
  return coveredCount / runs
}

describe("health of judges", () => {
  it("finds the bias for the page shown first, for any pages, and none in a judge without it", () => {
    // Pages of equal quality: the first wins with the odds of the bias.
    for (const [bias, truth] of [
      [{ first: 0.8 }, logistic(0.8)],
      [{}, 0.5],
      [{ quality: 2 }, 0.5],
    ] as const) {
      expect(coverage(bias, "position_effect", truth), JSON.stringify(bias)).to.be.within(0.93, 0.99)
    }
    const judgeHealth = healthOf(judged({ first: 1.5, quality: 1 }, { pairs: 60, rounds: 3, random: randomFrom(2) }))
    expect(judgeHealth.position_effect.low).to.be.greaterThan(0.5)
    expect(judgeHealth.position_effect).to.include({ n: 180, too_few: false })
  })

  it("finds the bias for longer pages over many different ones", () => {
    expect(coverage({ longer: 0.7 }, "length_effect", logistic(0.7))).to.be.within(0.93, 0.99)
    // Quality unrelated to length widens the interval without shifting it.
    expect(coverage({ quality: 1.5 }, "length_effect", 0.5)).to.be.within(0.93, 0.99)
  })

  it("tells flips and disagreement with itself as they are", () => {
    const p = logistic(0.8)
    // Both seats for the first page, or both against it.
    expect(coverage({ first: 0.8 }, "flip_rate", p ** 2 + (1 - p) ** 2)).to.be.within(0.93, 0.99)
    // Random verdicts: first, second, or flipped half of the time; two agree in 3 of 8.
    expect(coverage({}, "self_agreement", 3 / 8)).to.be.within(0.93, 0.99)
    const steady = healthOf(judged({ quality: 400 }, { pairs: 30, rounds: 4, random: randomFrom(3) }))
    expect(steady.flip_rate.value).to.be.lessThan(0.05)
    expect(steady.self_agreement.value).to.be.greaterThan(0.95)
  })

  it("counts refusals, and takes none for a verdict", () => {
    expect(coverage({ declines: 0.2 }, "refusals", 0.2)).to.be.within(0.93, 0.99)
    const all = healthOf(judged({ declines: 1 }, { pairs: 5, rounds: 2, random: randomFrom(4) }))
    expect(all.refusals).to.include({ value: 1, n: 20 })
    expect(all.position_effect).to.deep.equal({ value: null, low: 0, high: 1, n: 0, too_few: true })
  })

  it("leaves out answers that were kept from an earlier run, and says where there are too few", () => {
    const fresh = judged({ first: 1 }, { pairs: 7, rounds: 2, random: randomFrom(5) })
    const again = fresh.map(({ details, ...item }) => {
      const seats = (details["seats"] as unknown as object[]).map((seat) => ({ ...seat, kept: true }))
      return { ...item, details: { ...details, seats } } as unknown as StoredObservation
    })
    expect(healthOf([...fresh, ...again])).to.deep.equal(healthOf(fresh))
    expect(healthOf(fresh)).to.include({ rounds: 14, pairs: 7 })
    expect(healthOf(fresh).position_effect.too_few).to.equal(true)
  })

  it("widens an interval where what was counted resembles itself", () => {
    const alone = shareOf(Array.from({ length: 60 }, (_, place) => ({ hits: place % 2, of: 1 })))
    const alike = shareOf(Array.from({ length: 6 }, (_, place) => ({ hits: (place % 2) * 10, of: 10 })))
    expect(alone.value).to.equal(alike.value)
    expect(alike.high - alike.low).to.be.greaterThan(2 * (alone.high - alone.low))
  })
})

describe("calibration of judges", () => {
  /**
   * A decided experiment of `variants` variants, and a judge that names the winner with this probability, otherwise any other
   * variant.
   */
  const predicted = (skill: number, variants: number, random: () => number): Prediction => {
    const keys = Array.from({ length: variants }, (_, place) => `v${place}`)
    const rates = new Map(keys.map((key) => [key, random()]))
    const winner = keys.reduce((best, key) => ((rates.get(key) ?? 0) > (rates.get(best) ?? 0) ? key : best))
    const others = keys.filter((key) => key !== winner)
    const favourite = random() < skill ? winner : others[Math.floor(random() * others.length)]
    const scores = new Map(keys.map((key) => [key, key === favourite ? 1 : random() / 2]))
    return { outcome: { rates, winner }, scores }
  }

  it("holds a judge's true hit rate", () => {
    for (const [skill, experiments] of [
      [0.67, 40],
      [1 / 3, 60],
      [0.95, 35],
    ] as const) {
      const random = randomFrom(21)
      const runs = 400
      const coveredCount = Array.from({ length: runs }, () =>
        calibrationOf(Array.from({ length: experiments }, () => predicted(skill, 3, random))),
      ).filter(({ hit_rate }) => holds(hit_rate, skill)).length
      expect(coveredCount / runs, String(skill)).to.be.within(0.93, 0.99)
    }
  })

  it("tells skill from chance, and says what chance would hit", () => {
    const random = randomFrom(22)
    const good = calibrationOf(Array.from({ length: 50 }, () => predicted(0.9, 3, random)))
    expect(good.hit_rate_by_chance).to.be.closeTo(1 / 3, 1e-9)
    expect(good.hit_rate.low).to.be.greaterThan(1 / 3)
    expect(good.rank_agreement.low).to.be.greaterThan(0)
    const blind = calibrationOf(Array.from({ length: 50 }, () => predicted(1 / 3, 3, random)))
    expect(holds(blind.hit_rate, 1 / 3)).to.equal(true)
    expect(holds(blind.rank_agreement, 0)).to.equal(true)
    expect(good.hit_rate.too_few).to.equal(false)
    expect(calibrationOf(Array.from({ length: 29 }, () => predicted(1, 2, random))).hit_rate).to.deep.include({
      value: 1,
      n: 29,
      too_few: true,
    })
  })

  it("counts neither a hit nor a miss where visitors told no winner or the judge named no favourite", () => {
    const rates = new Map([
      ["a", 0.1],
      ["b", 0.2],
    ])
    const scores = (a: number, b: number) => new Map(Object.entries({ a, b }))
    const card = calibrationOf([
      { outcome: { rates, winner: undefined }, scores: scores(1, 2) },
      { outcome: { rates, winner: "b" }, scores: scores(1, 1) },
      { outcome: { rates, winner: "b" }, scores: scores(1, 2) },
    ])
    expect(card).to.deep.include({ experiments: 3, without_winner: 1, without_favourite: 1 })
    expect(card.hit_rate).to.deep.include({ value: 1, n: 1, too_few: true })
    expect(card.hit_rate.low).to.be.lessThan(0.3)
    expect(card.rank_agreement.n).to.equal(2)
  })

  it("measures agreement of rankings as published", () => {
    expect(
      kendall([
        [1, 1],
        [2, 2],
        [3, 3],
      ]),
    ).to.equal(1)
    expect(
      kendall([
        [1, 3],
        [2, 2],
        [3, 1],
      ]),
    ).to.equal(-1)
    // One pair of six swapped: (5 - 1) / 6.
    expect(
      kendall([
        [1, 1],
        [2, 2],
        [3, 4],
        [4, 3],
      ]),
    ).to.be.closeTo(4 / 6, 1e-12)
    // Tied in one of them: 2 agree, 0 opposed, sqrt(2 * 3).
    expect(
      kendall([
        [1, 1],
        [1, 2],
        [2, 3],
      ]),
    ).to.be.closeTo(2 / Math.sqrt(6), 1e-12)
    expect(
      kendall([
        [1, 1],
        [1, 2],
      ]),
    ).to.equal(undefined)
  })
})
