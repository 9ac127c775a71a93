// Ranks keys from pairwise comparisons: strengths with standard errors, expected win rates and ranks.
import { inverse, Matrix } from "ml-matrix"
import { type Comparison, type Comparisons, sumByPair } from "./comparisons.ts"
import { type Fitting, type RankingModel, type Strengths, strengthsOf } from "./strengths.ts"

export interface Ranked {
  readonly key: string
  /** Log-strength, centred: the mean over all keys is 0. */
  readonly strength: number
  /**
   * Standard error of the strength. Robust (sandwich), so it is valid even if the model is wrong. For regularised fits, the
   * model's own error.
   */
  readonly se: number
  /** Expected win rate against the others, each met equally often. A tie is half a win. */
  readonly score: number
  /** Starts at 1; equal strengths share a rank. */
  readonly rank: number
}

export interface Fit {
  /** Strongest first. */
  readonly ranking: readonly Ranked[]
  /** Davidson's v: between equals, the odds of a tie are v to 2. Only in that model, and only with ties. */
  readonly tie_parameter?: number
  /** See `Strengths.regularised`. */
  readonly regularised: boolean
  readonly converged: boolean
  readonly iterations: number
}

/** Centred strengths and the covariance of their errors, both by the keys' places. */
export interface FittedStrengths extends Strengths {
  readonly keys: readonly string[]
  readonly covariance: Matrix
}

/** Strengths closer than this are equal. The iteration's precision is lower. */
const equalWithin = 1e-8

/** Requires at least one comparison, each of two different keys. */
export function fitRanking(comparisons: readonly Comparison[], model: RankingModel): Fit {
  const fitted = fitStrengths(comparisons, model)
  const sorted = fitted.keys
    .map((key, place) => ({ key, strength: fitted.strengths[place] ?? 0, se: standardError(fitted, place), score: scoreOf(place, fitted) }))
    .sort((left, right) => right.strength - left.strength)
  let rank = 1
  const ranking = sorted.map((entry, index) => {
    const before = sorted[index - 1]
    if (!before || before.strength - entry.strength > equalWithin) rank = index + 1
    return { ...entry, rank }
  })
  const { tieParameter, regularised, converged, iterations } = fitted
  return { ranking, ...(tieParameter > 0 ? { tie_parameter: tieParameter } : {}), regularised, converged, iterations }
}

export function fitStrengths(inputs: readonly Comparison[], model: RankingModel, fitting: Fitting = {}): FittedStrengths {
  const comparisons = sumByPair(inputs, fitting.keys)
  const strengths = strengthsOf(comparisons, model, fitting)
  return { ...strengths, keys: comparisons.keys, covariance: covarianceOf(comparisons, strengths) }
}

export function standardError({ covariance }: FittedStrengths, place: number): number {
  return Math.sqrt(Math.max(0, covariance.get(place, place)))
}

/** Returns the standard error of the difference of two strengths. */
export function standardErrorOfDifference({ covariance }: FittedStrengths, first: number, second: number): number {
  return Math.sqrt(Math.max(0, covariance.get(first, first) + covariance.get(second, second) - 2 * covariance.get(first, second)))
}

export function scoreOf(place: number, { strengths, tieParameter }: Strengths): number {
  const sum = strengths.reduce((total, other, index) => {
    if (index === place) return total
    const { win, tie } = chancesOf((strengths[place] ?? 0) - other, tieParameter)
    return total + win + tie / 2
  }, 0)
  return sum / (strengths.length - 1)
}

function chancesOf(difference: number, v: number): { readonly win: number; readonly tie: number } {
  const half = Math.exp(difference / 2)
  const sum = half + 1 / half + v
  return { win: half / sum, tie: v / sum }
}

/**
 * Returns the sandwich covariance (Huber 1967; White 1982) of the centred strengths: the inverse information around the sum of
 * squared scores of the single comparisons. The models are exponential families in half-wins and ties, so their covariance is the
 * information. Davidson's tie parameter adds one parameter, its logarithm.
 */
function covarianceOf({ keys, pairs }: Comparisons, { strengths, tieParameter: v, regularised, centre }: Strengths): Matrix {
  const size = keys.length + (v > 0 ? 1 : 0)
  const ofTies = keys.length
  const information = Matrix.zeros(size, size)
  const scores = Matrix.zeros(size, size)
  for (const { first, second, firstWins, secondWins, ties } of pairs) {
    const { win, tie } = chancesOf((strengths[first] ?? 0) - (strengths[second] ?? 0), v)
    const mean = win + tie / 2
    const count = firstWins + secondWins + ties
    addPair(information, first, second, count * (win + tie / 4 - mean * mean))
    addPair(scores, first, second, firstWins * (1 - mean) ** 2 + secondWins * mean ** 2 + ties * (0.5 - mean) ** 2)
    if (v === 0) continue
    add(information, ofTies, ofTies, count * tie * (1 - tie))
    add(scores, ofTies, ofTies, (firstWins + secondWins) * tie ** 2 + ties * (1 - tie) ** 2)
    addWithTies(information, first, second, ofTies, count * (tie / 2 - mean * tie))
    const mixed = -firstWins * (1 - mean) * tie + secondWins * mean * tie + ties * (0.5 - mean) * (1 - tie)
    addWithTies(scores, first, second, ofTies, mixed)
  }
  for (const place of keys.keys()) {
    const against = 1 / (1 + Math.exp(-((strengths[place] ?? 0) + centre)))
    if (regularised) add(information, place, place, 2 * against * (1 - against))
    // Comparisons do not determine a common shift of all strengths. Any added amount fixes it, and centring removes it.
    else for (const other of keys.keys()) add(information, place, other, 1 / keys.length)
  }
  const inverted = inverse(information)
  // Keys with only wins or only losses have scores near 0. Keys with only ties have scores of 0. The robust estimate would call
  // their strength certain.
  const decided = new Set(pairs.flatMap(({ first, second, firstWins, secondWins }) => (firstWins + secondWins > 0 ? [first, second] : [])))
  const isRobust = !regularised && decided.size === keys.length
  const covariance = isRobust ? inverted.mmul(scores).mmul(inverted) : inverted
  // Centres the covariance, as the strengths are centred.
  const last = keys.length - 1
  return covariance.subMatrix(0, last, 0, last).center("row").center("column")
}

function addPair(matrix: Matrix, first: number, second: number, value: number): void {
  add(matrix, first, first, value)
  add(matrix, second, second, value)
  add(matrix, first, second, -value)
  add(matrix, second, first, -value)
}

function addWithTies(matrix: Matrix, first: number, second: number, ofTies: number, value: number): void {
  add(matrix, first, ofTies, value)
  add(matrix, ofTies, first, value)
  add(matrix, second, ofTies, -value)
  add(matrix, ofTies, second, -value)
}

function add(matrix: Matrix, row: number, column: number, value: number): void {
  matrix.set(row, column, matrix.get(row, column) + value)
}
