// Most likely strengths of the Bradley–Terry model, by Newman's iteration (arXiv 2207.00076), and of Davidson's model with a
// parameter for ties (Davidson 1970):
//   P(i beats j) = p_i / d,  P(tie) = v sqrt(p_i p_j) / d,  d = p_i + p_j + v sqrt(p_i p_j)
// Bradley–Terry counts a tie as half a win of each.
import { type Comparisons, isStronglyConnected } from "./comparisons.ts"

const rankingModels = ["bradley-terry", "davidson"] as const
export type RankingModel = (typeof rankingModels)[number]

export interface Strengths {
  /** Centred logarithm of p, by the key's place. */
  readonly strengths: readonly number[]
  /** v; 0 in the Bradley–Terry model. */
  readonly tieParameter: number
  /**
   * True if each key received a win and a loss against a key of average strength. Reasons: too few comparisons, or no finite most
   * likely strengths without it.
   */
  readonly regularised: boolean
  /** Mean of the logarithms, subtracted by the centring. */
  readonly centre: number
  readonly converged: boolean
  readonly iterations: number
}

export interface Fitting {
  /** Keys to rank in addition to the compared keys. */
  readonly keys?: readonly string[]
  /** Always regularises. By default only if no finite most likely strengths exist. */
  readonly regularise?: boolean
  /** Largest change of a logarithm in the last iteration. */
  readonly tolerance?: number
  readonly maxIterations?: number
}

interface Opponent {
  readonly place: number
  readonly wins: number
  readonly losses: number
}

export function strengthsOf(
  comparisons: Comparisons,
  model: RankingModel,
  { regularise = false, tolerance = 1e-10, maxIterations = 10_000 }: Fitting = {},
): Strengths {
  const regularised = regularise || !isStronglyConnected(comparisons)
  const opponents = opponentsOf(comparisons)
  const ties = comparisons.pairs.reduce((sum, pair) => sum + pair.ties, 0)
  // With ties only, any large parameter fits.
  const hasWins = comparisons.pairs.some(({ firstWins, secondWins }) => firstWins + secondWins > 0)
  const withTies = model === "davidson" && ties > 0 && hasWins
  const p = new Float64Array(comparisons.keys.length).fill(1)
  let tieParameter = withTies ? 1 : 0
  let iterations = 0
  let change = Number.POSITIVE_INFINITY
  while (change > tolerance && iterations < maxIterations) {
    iterations++
    change = 0
    for (const [place, faced] of opponents.entries()) {
      const next = strengthAgainst(p[place] ?? 1, faced, p, tieParameter, regularised)
      change = Math.max(change, Math.abs(Math.log(next / (p[place] ?? 1))))
      p[place] = next
    }
    if (regularised) change = Math.max(change, Math.abs(shiftToAverage(p)))
    else normalise(p)
    if (!withTies) continue
    const next = ties / expectedTiesPerUnit(comparisons, p, tieParameter)
    change = Math.max(change, Math.abs(Math.log(next / tieParameter)))
    tieParameter = next
  }
  const logarithms = Array.from(p, Math.log)
  const centre = logarithms.reduce((sum, value) => sum + value, 0) / logarithms.length
  return {
    strengths: logarithms.map((value) => value - centre),
    tieParameter,
    regularised,
    centre,
    converged: change <= tolerance,
    iterations,
  }
}

/** Runs one step of the iteration, with the newest strengths of all others. */
function strengthAgainst(own: number, faced: readonly Opponent[], p: Float64Array, v: number, regularised: boolean): number {
  let above = regularised ? 1 / (own + 1) : 0
  let below = above
  for (const { place, wins, losses } of faced) {
    const other = p[place] ?? 1
    const root = v * Math.sqrt(own * other)
    const sum = own + other + root
    above += (wins * (other + root / 2)) / sum
    below += (losses * (1 + root / (2 * own))) / sum
  }
  return above / below
}

/** Counts a tie as half a win and half a loss. */
function opponentsOf({ keys, pairs }: Comparisons): Opponent[][] {
  const opponents: Opponent[][] = keys.map(() => [])
  for (const { first, second, firstWins, secondWins, ties } of pairs) {
    const [ofFirst, ofSecond] = [firstWins + ties / 2, secondWins + ties / 2]
    opponents[first]?.push({ place: second, wins: ofFirst, losses: ofSecond })
    opponents[second]?.push({ place: first, wins: ofSecond, losses: ofFirst })
  }
  return opponents
}

/** Scales the geometric mean to 1. Only ratios matter, and products of many iterations must stay within the range of numbers. */
function normalise(p: Float64Array): void {
  const mean = Math.exp(p.reduce((sum, value) => sum + Math.log(value), 0) / p.length)
  for (const [place, value] of p.entries()) p[place] = value / mean
}

/**
 * Shifts all strengths by one Newton step. The wins and losses against the average key alone determine the common strength, and
 * the plain iteration would need hundreds of steps for it. Returns the shift of the logarithms.
 */
function shiftToAverage(p: Float64Array): number {
  let [slope, curvature] = [0, 0]
  for (const value of p) {
    const wins = value / (value + 1)
    slope += 1 - 2 * wins
    curvature += 2 * wins * (1 - wins)
  }
  const shift = slope / curvature
  for (const [place, value] of p.entries()) p[place] = value * Math.exp(shift)
  return shift
}

function expectedTiesPerUnit({ pairs }: Comparisons, p: Float64Array, v: number): number {
  return pairs.reduce((sum, { first, second, firstWins, secondWins, ties }) => {
    const [firstStrength, secondStrength] = [p[first] ?? 1, p[second] ?? 1]
    const root = Math.sqrt(firstStrength * secondStrength)
    return sum + ((firstWins + secondWins + ties) * root) / (firstStrength + secondStrength + v * root)
  }, 0)
}
