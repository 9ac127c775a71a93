// Chooses the next pair: its verdict should reduce the ranking's uncertainty most. Pure.
import { type FittedStrengths, standardErrorOfDifference } from "../statistics/ranking/fit.ts"
import type { Standing } from "./stop.ts"

export interface ChosenPair {
  readonly first: string
  readonly second: string
}

/**
 * Returns pairs, best first. Each key is in at most one pair, so the pairs can be judged in parallel. The expected gain of a
 * verdict, up to higher-order terms, is log(1 + p q Var(d)): the uncertainty of the difference and of its outcome (determinant of
 * the information, after MacKay 1992). In every other round, the first pair is one missing from the leader's proof.
 */
export function choosePairs(
  fitted: FittedStrengths,
  { leader, open }: Pick<Standing, "leader" | "open">,
  rounds: number,
  count: number,
): ChosenPair[] {
  const { keys, strengths } = fitted
  const pairs = keys.flatMap((first, index) =>
    keys.slice(index + 1).map((second, after) => {
      const other = index + 1 + after
      const p = 1 / (1 + Math.exp((strengths[other] ?? 0) - (strengths[index] ?? 0)))
      const gain = Math.log1p(p * (1 - p) * standardErrorOfDifference(fitted, index, other) ** 2)
      const isProof = (first === leader && open.includes(second)) || (second === leader && open.includes(first))
      return { first, second, gain: rounds % 2 === 1 && isProof ? gain + 1_000 : gain }
    }),
  )
  pairs.sort((left, right) => right.gain - left.gain)
  const keysUsed = new Set<string>()
  const chosen: ChosenPair[] = []
  for (const { first, second } of pairs) {
    if (chosen.length === count) break
    if (keysUsed.has(first) || keysUsed.has(second)) continue
    keysUsed.add(first).add(second)
    chosen.push({ first, second })
  }
  return chosen
}

export function pairId(first: string, second: string): string {
  return first < second ? `${first} ${second}` : `${second} ${first}`
}
