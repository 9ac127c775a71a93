// Which pair to judge next: the one whose verdict is expected to reduce the ranking's uncertainty most. Pure.
import { type FittedStrengths, standardErrorOfDifference } from "../statistics/ranking/fit.ts"
import type { Standing } from "./stop.ts"

export interface ChosenPair {
  readonly first: string
  readonly second: string
}

/**
 * The expected gain of a verdict, up to terms of higher order, is log(1 + p q Var(d)): how uncertain the difference is, and how
 * open its outcome (the determinant of the information, after MacKay 1992). Every other time the first pair is one that the
 * leader's proof lacks. Best first; each key in at most one of the pairs, so that they can be judged at once.
 */
export function choosePairs(
  fitted: FittedStrengths,
  { leader, open }: Pick<Standing, "leader" | "open">,
  rounds: number,
  count: number,
): ChosenPair[] {
  const { keys, strengths } = fitted
  const pairs = keys.flatMap((first, one) =>
    keys.slice(one + 1).map((second, after) => {
      const other = one + 1 + after
      const p = 1 / (1 + Math.exp((strengths[other] ?? 0) - (strengths[one] ?? 0)))
      const gain = Math.log1p(p * (1 - p) * standardErrorOfDifference(fitted, one, other) ** 2)
      const isProof = (first === leader && open.includes(second)) || (second === leader && open.includes(first))
      return { first, second, gain: rounds % 2 === 1 && isProof ? gain + 1_000 : gain }
    }),
  )
  pairs.sort((one, other) => other.gain - one.gain)
  const taken = new Set<string>()
  const chosen: ChosenPair[] = []
  for (const { first, second } of pairs) {
    if (chosen.length === count) break
    if (taken.has(first) || taken.has(second)) continue
    taken.add(first).add(second)
    chosen.push({ first, second })
  }
  return chosen
}

export function pairId(one: string, other: string): string {
  return one < other ? `${one} ${other}` : `${other} ${one}`
}
