// Result of a tournament: the comparisons, the ranking with its intervals, and its certainty. Pure.
import type { StoredObservation } from "../collections.ts"
import { type FittedStrengths, scoreOf, standardError } from "../statistics/ranking/fit.ts"
import type { Merge } from "./clusters.ts"
import { boundary, currentStanding, type Judged, type StopRule } from "./stop.ts"

export interface Seat {
  readonly shown_as_a: string
  readonly shown_as_b: string
  /** "" if it could not be judged; the reasoning then has the cause. */
  readonly winner: string
  readonly reasoning: string
  readonly confidence: number
  /** Millicents; 0 for a cached answer. */
  readonly cost: number
  /** True for a cached answer of an earlier run. It contains no new information about the judge. */
  readonly kept?: boolean
  /** Reason of the failure, if any. */
  readonly failed?: string
}

/** A pair, judged in both seats. */
export interface Round {
  readonly first: string
  readonly second: string
  /** 1: the first won. 0: the second won. 0.5: the seats disagree. null: not judged. */
  readonly value: number | null
  readonly seats: readonly Seat[]
}

export interface ResultArgs {
  readonly merges: readonly Merge[]
  readonly rounds: readonly Round[]
  readonly fitted: FittedStrengths
  readonly rule: StopRule
  readonly judge_slug: string
  /** Cause of an end without a proven ranking. */
  readonly stopped: string
}

export type TournamentResult = ReturnType<typeof tournamentResult>

export function tournamentResult({ merges, rounds, fitted, rule, judge_slug, stopped }: ResultArgs) {
  const judged = rounds.filter(({ value }) => value !== null)
  const { outcome, leader, roundsNeeded } = currentStanding(fitted, judgedOf(rounds), rule)
  const cost = rounds.flatMap(({ seats }) => seats).reduce((sum, seat) => sum + seat.cost, 0)
  const perComparison = judged.length > 0 ? cost / judged.length : 0
  return {
    cluster_method: merges[0]?.method ?? "none",
    converged: fitted.converged,
    iterations: fitted.iterations,
    judge_slug,
    persisted: rounds.length,
    skipped_pairs: rounds.length - judged.length,
    comparisons: judged.map(comparisonOf),
    merges,
    ranking: ranked(fitted, judged, merges, { widening: boundary(Math.max(judged.length, 1), rule.alpha), isLed: outcome === "leader" }),
    outcome,
    leader_key: outcome === "leader" ? leader : "",
    comparisons_to_decision: roundsNeeded,
    millicents_to_decision: Math.ceil(roundsNeeded * perComparison),
    cost_millicents: cost,
    position_effect: positionEffect(judged),
    flip_rate: judged.length > 0 ? judged.filter(({ value }) => value === 0.5).length / judged.length : null,
    note: stopped,
  }
}

/**
 * Returns a pair as one comparison with the arguments of both seats. Its keys are empty if the verdict changed with the seats.
 */
function comparisonOf({ first, second, value, seats }: Round) {
  const [winner_key, loser_key] = value === 1 ? [first, second] : value === 0 ? [second, first] : ["", ""]
  return {
    confidence: seats.reduce((sum, { confidence }) => sum + confidence, 0) / seats.length,
    loser_key,
    persisted: true,
    reasoning: seats.map(({ reasoning }) => reasoning).join("\n\n"),
    shown_as_a: first,
    shown_as_b: second,
    winner_key,
  }
}

/** Reads a round from the ledger. */
export function roundOf({ details }: Pick<StoredObservation, "details">): Round {
  const { first, second, first_value, seats } = details as unknown as {
    first: string
    second: string
    first_value: number | null
    seats: Round["seats"]
  }
  return { first, second, value: first_value, seats }
}

/** Returns the rounds with a verdict. */
export function judgedOf(rounds: readonly Round[]): Judged[] {
  return rounds.flatMap(({ first, second, value }) => (value === null ? [] : [{ first, second, value }]))
}

/** Variants with overlapping intervals share a rank. A proven leader never shares its rank. */
function ranked(
  fitted: FittedStrengths,
  judged: readonly Round[],
  merges: readonly Merge[],
  { widening, isLed }: { readonly widening: number; readonly isLed: boolean },
) {
  const sorted = fitted.keys
    .map((key, place) => {
      const strength = fitted.strengths[place] ?? 0
      const half = standardError(fitted, place) * widening
      const comparisons = judged.filter(({ first, second }) => first === key || second === key).length
      const represents = [key, ...merges.filter(({ representative_key }) => representative_key === key).map(({ merged_key }) => merged_key)]
      return {
        comparisons,
        key,
        represents,
        score: fitted.keys.length > 1 ? scoreOf(place, fitted) : 0.5,
        strength,
        variant_key: key,
        low: strength - half,
        high: strength + half,
      }
    })
    .sort((left, right) => right.strength - left.strength)
  let rank = 1
  return sorted.map((entry, place) => {
    const before = sorted[place - 1]
    if (before && (entry.high < before.low || (isLed && place === 1))) rank = place + 1
    return { ...entry, rank }
  })
}

/** Returns the share of wins of the page shown first. Each pair is shown in both orders, so quality cancels out. */
function positionEffect(judged: readonly Round[]): { readonly share_of_first: number; readonly se: number } | null {
  const seats = judged.flatMap((round) => round.seats)
  if (seats.length === 0) return null
  const share = seats.filter(({ shown_as_a, winner }) => winner === shown_as_a).length / seats.length
  return { share_of_first: share, se: Math.sqrt(Math.max(share * (1 - share), 1 / (4 * seats.length)) / seats.length) }
}
