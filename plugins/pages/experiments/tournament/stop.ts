// Decides the end of a tournament. The standing is checked after every round, so its bounds must be valid at all times. Direct
// comparisons of the leader with each rival prove a lead. A bet against "it wins at most every other time", mixed over all
// stakes, is an e-process, exact for any judge and any choice of pairs (Waudby-Smith and Ramdas, arXiv 2010.09686). Equality uses
// an asymptotic confidence sequence of the fitted strengths (arXiv 2103.06476). Pure.
import { type FittedStrengths, standardErrorOfDifference } from "../statistics/ranking/fit.ts"

export interface StopRule {
  /** Probability of a wrong leader, over the whole tournament. */
  readonly alpha: number
  /** Win rates within this distance of one half count as equal; 0: never. */
  readonly equalMargin: number
}

/** A judged pair: 1 if the first won, 0 if the second won, 0.5 if the seats disagreed. */
export interface Judged {
  readonly first: string
  readonly second: string
  readonly value: number
}

export interface Standing {
  readonly outcome: "leader" | "equal" | "undecided"
  readonly leader: string
  /** Rivals without a proven lead over them, strongest first. */
  readonly open: readonly string[]
  /** Estimated rounds to a decision if the current estimates are true; 0 if the tournament is over. */
  readonly roundsNeeded: number
}

/** Fewer rounds are too few for an asymptotic sequence. */
const minRoundsPerRival = 4
const maxRoundsNeeded = 1_000_000

export function currentStanding(fitted: FittedStrengths, rounds: readonly Judged[], { alpha, equalMargin }: StopRule): Standing {
  const { keys, strengths } = fitted
  const strengthOf = (key: string) => strengths[keys.indexOf(key)] ?? 0
  const [leader = "", ...rivals] = [...keys].sort((left, right) => strengthOf(right) - strengthOf(left))
  const level = alpha / Math.max(rivals.length, 1)
  const direct = new Map(rivals.map((rival) => [rival, directOf(rounds, leader, rival)]))
  const open = rivals.filter((rival) => evidence(direct.get(rival) ?? []) < 1 / level)
  if (rivals.length > 0 && open.length === 0) return { outcome: "leader", leader, open, roundsNeeded: 0 }
  if (equalMargin > 0 && isEqual(fitted, rounds.length, leader, { level, equalMargin }))
    return { outcome: "equal", leader, open, roundsNeeded: 0 }
  const roundsNeeded = open.reduce((sum, rival) => sum + roundsToProof(direct.get(rival) ?? [], level), 0)
  return { outcome: "undecided", leader, open, roundsNeeded: Math.min(roundsNeeded, maxRoundsNeeded) }
}

/** Returns the leader's shares in the rounds against a rival. */
function directOf(rounds: readonly Judged[], leader: string, rival: string): number[] {
  return rounds.flatMap(({ first, second, value }) => {
    if (first === leader && second === rival) return [value]
    return first === rival && second === leader ? [1 - value] : []
  })
}

/** Stakes of the mixture. */
const stakes = Array.from({ length: 200 }, (_, at) => (at + 0.5) / 200)

/** Returns the mean growth of a bet on the leader. Its expectation is at most 1 if the leader wins at most every other time. */
export function evidence(shares: readonly number[]): number {
  let grown = 0
  for (const stake of stakes) {
    let capital = 1
    for (const share of shares) capital *= 1 + stake * (2 * share - 1)
    grown += capital
  }
  return grown / stakes.length
}

/**
 * Returns the rounds to a proof. A bet at the best stake grows by the divergence of the win rate from one half. A rate at or
 * below one half proves nothing.
 */
function roundsToProof(shares: readonly number[], level: number): number {
  // Adds one win and one loss to the counts, since no variant always wins.
  const rate = (shares.reduce((sum, share) => sum + share, 0) + 1) / (shares.length + 2)
  const p = Math.max(rate, 0.51)
  const growth = p * Math.log(2 * p) + (1 - p) * Math.log(2 * (1 - p))
  const missing = Math.log(1 / level) + 1 - Math.log(Math.max(evidence(shares), 1))
  return Math.ceil(Math.max(missing, 0.1) / growth)
}

function isEqual(
  fitted: FittedStrengths,
  rounds: number,
  leader: string,
  { level, equalMargin }: { readonly level: number; readonly equalMargin: number },
): boolean {
  const { keys, strengths } = fitted
  const lead = keys.indexOf(leader)
  if (rounds < (keys.length - 1) * minRoundsPerRival) return false
  const margin = Math.log((0.5 + equalMargin) / (0.5 - equalMargin))
  const widening = boundary(rounds, level)
  return keys.every((_, place) => {
    const by = (strengths[lead] ?? 0) - (strengths[place] ?? 0)
    return place === lead || by + standardErrorOfDifference(fitted, lead, place) * widening <= margin
  })
}

/** Factor of the standard error for the asymptotic sequence after `t` observations; tightest at about fifty. */
export function boundary(t: number, alpha: number): number {
  const rho2 = 0.1
  const information = t * rho2 + 1
  return Math.sqrt(((2 * information) / (t * rho2)) * Math.log(Math.sqrt(information) / alpha))
}
