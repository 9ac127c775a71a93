// How well cheap evidence foretells what visitors do: over experiments that were decided, whether a judge's favourite was the
// variant that converted best, and how its ranking agrees with that of the conversion rates. Pure.
import { type Share, shareOf } from "../statistics/shares.ts"

/** What visitors did in one experiment. */
export interface LiveOutcome {
  /** Conversion rates by variant. */
  readonly rates: ReadonlyMap<string, number>
  /** The variant that was proven to convert best; undefined where visitors did not tell. */
  readonly winner: string | undefined
}

/** What a judge said of one experiment: the higher, the better. */
export interface Prediction {
  readonly outcome: LiveOutcome
  readonly scores: ReadonlyMap<string, number>
}

export interface Calibration {
  /** Decided experiments that it judged, and whose visitors were counted. */
  readonly experiments: number
  /** Of these, visitors did not tell a winner: no hit, no miss. */
  readonly without_winner: number
  /** Of these, it named no favourite: no hit, no miss. */
  readonly without_favourite: number
  /** How often its favourite was the winner. */
  readonly hit_rate: Share
  /** What naming any variant would hit. */
  readonly hit_rate_by_chance: number | null
  /** Kendall's tau-b of its ranking and the rates', the mean over experiments: 1 the same, 0 unrelated, -1 reversed. */
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

/** The one variant with the highest score. */
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

/** From 0..1 to -1..1. */
function fromShare({ value, low, high, ...rest }: Share): Share {
  return { value: value === null ? null : value * 2 - 1, low: low * 2 - 1, high: high * 2 - 1, ...rest }
}

// How two orders of the same things agree: 1 the same, 0 unrelated, -1 reversed.

/** Values of one thing in the two orders. */
type Pair = readonly [one: number, other: number]

/** Tau-b (Kendall 1945); undefined where one side has no order at all. */
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
