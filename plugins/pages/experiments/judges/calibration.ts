// Measures how well a judge predicts visitors over decided experiments: whether its favourite converted best, and how well its
// ranking agrees with the conversion rates. Pure.
import { type Share, shareOf } from "../statistics/shares.ts"

/** Results of visitors in one experiment. */
export interface LiveOutcome {
  /** Conversion rates by variant. */
  readonly rates: ReadonlyMap<string, number>
  /** The variant proven to convert best; undefined if visitors proved no winner. */
  readonly winner: string | undefined
}

/** Scores of a judge for one experiment. Higher is better. */
export interface Prediction {
  readonly outcome: LiveOutcome
  readonly scores: ReadonlyMap<string, number>
}

export interface Calibration {
  /** Decided experiments with scores of the judge and counted visitors. */
  readonly experiments: number
  /** Of these, experiments without a winner by visitors: neither hit nor miss. */
  readonly without_winner: number
  /** Of these, experiments without a favourite of the judge: neither hit nor miss. */
  readonly without_favourite: number
  /** Share of experiments in which its favourite was the winner. */
  readonly hit_rate: Share
  /** Hit rate of a random choice. */
  readonly hit_rate_by_chance: number | null
  /** Kendall's tau-b of its ranking and the rates' ranking, as a mean over experiments: 1 the same, 0 unrelated, -1 reversed. */
  readonly rank_agreement: Share
}

export function calibrationOf(predictions: readonly Prediction[]): Calibration {
  const decided = predictions.filter(({ outcome }) => outcome.winner !== undefined)
  const decisions = decided.flatMap(({ outcome, scores }) => {
    const favourite = favouriteOf(scores)
    return favourite === undefined ? [] : [{ isHit: favourite === outcome.winner, variants: scores.size }]
  })
  const agreements = predictions.flatMap(({ outcome, scores }) => {
    const tau = kendall(pairsOf(scores, outcome.rates))
    return tau === undefined ? [] : [tau]
  })
  return {
    experiments: predictions.length,
    without_winner: predictions.length - decided.length,
    without_favourite: decided.length - decisions.length,
    hit_rate: shareOf(decisions.map(({ isHit }) => ({ hits: isHit ? 1 : 0, of: 1 }))),
    hit_rate_by_chance: decisions.length === 0 ? null : decisions.reduce((sum, { variants }) => sum + 1 / variants, 0) / decisions.length,
    rank_agreement: fromShare(shareOf(agreements.map((tau) => ({ hits: (tau + 1) / 2, of: 1 })))),
  }
}

/** Returns the only variant with the highest score. */
function favouriteOf(scores: ReadonlyMap<string, number>): string | undefined {
  const highest = Math.max(...scores.values())
  const best = [...scores].filter(([, score]) => score === highest)
  return best.length === 1 && scores.size > 1 ? best[0]?.[0] : undefined
}

function pairsOf(scores: ReadonlyMap<string, number>, rates: ReadonlyMap<string, number>): Pair[] {
  return [...scores].flatMap(([key, score]): Pair[] => {
    const rate = rates.get(key)
    return rate === undefined ? [] : [[score, rate]]
  })
}

/** Maps 0..1 to -1..1. */
function fromShare({ value, low, high, ...rest }: Share): Share {
  return { value: value === null ? null : value * 2 - 1, low: low * 2 - 1, high: high * 2 - 1, ...rest }
}

// Agreement of two orders of the same items: 1 the same, 0 unrelated, -1 reversed.

/** Values of one item in the two orders. */
type Pair = readonly [one: number, other: number]

/** Returns tau-b (Kendall 1945), or undefined if all values of one side are equal. */
export function kendall(pairs: readonly Pair[]): number | undefined {
  let [agreeing, opposed, tiedInOne, tiedInOther, all] = [0, 0, 0, 0, 0]
  for (const [place, [a, x]] of pairs.entries()) {
    for (const [b, y] of pairs.slice(place + 1)) {
      all++
      const direction = Math.sign(a - b) * Math.sign(x - y)
      if (direction > 0) agreeing++
      if (direction < 0) opposed++
      if (a === b) tiedInOne++
      if (x === y) tiedInOther++
    }
  }
  const scale = Math.sqrt((all - tiedInOne) * (all - tiedInOther))
  return scale > 0 ? (agreeing - opposed) / scale : undefined
}
