// Tournaments among variants of known strengths, judged by the model. For tests and benchmarks of the tournament rules.
import type { Comparison } from "../../../plugins/pages/experiments/statistics/ranking/comparisons.ts"
import { fitStrengths } from "../../../plugins/pages/experiments/statistics/ranking/fit.ts"
import { choosePairs } from "../../../plugins/pages/experiments/tournament/choose.ts"
import { currentStanding } from "../../../plugins/pages/experiments/tournament/stop.ts"

export interface Played {
  readonly outcome: string
  readonly leader: string
  readonly rounds: number
  readonly order: readonly string[]
}

/** Plays a tournament of variants `0`, `1`, … with these strengths. The judge errs according to the model. */
export function play(
  truth: readonly number[],
  {
    maxRounds,
    random,
    chosen = true,
    equalMargin = 0,
    playsOn = false,
  }: {
    maxRounds: number
    random: () => number
    /** True for chosen pairs, false for random pairs. */
    chosen?: boolean
    equalMargin?: number
    /** True to continue to the bound after a decision. */
    playsOn?: boolean
  },
): Played {
  const keys = truth.map((_, place) => String(place))
  const comparisons: Comparison[] = []
  const fitted = () => fitStrengths(comparisons, "bradley-terry", { regularise: true, keys })
  const at = (key: string) => truth[Number(key)] ?? 0
  const any = () => {
    const value = Math.floor(random() * keys.length)
    const other = (value + 1 + Math.floor(random() * (keys.length - 1))) % keys.length
    return { first: String(value), second: String(other) }
  }
  for (;;) {
    const now = fitted()
    const judged = comparisons.map(({ a: first, b: second, winner }) => ({ first, second, value: winner === "a" ? 1 : 0 }))
    const state = currentStanding(now, judged, { alpha: 0.05, equalMargin })
    const { outcome, leader } = state
    if ((outcome !== "undecided" && !playsOn) || comparisons.length >= maxRounds) {
      const order = [...keys].sort((left, right) => (now.strengths[Number(right)] ?? 0) - (now.strengths[Number(left)] ?? 0))
      return { outcome, leader, rounds: comparisons.length, order }
    }
    const { first, second } = (chosen ? choosePairs(now, state, comparisons.length, 1)[0] : any()) ?? any()
    comparisons.push({ a: first, b: second, winner: random() < 1 / (1 + Math.exp(at(second) - at(first))) ? "a" : "b", count: 1 })
  }
}
