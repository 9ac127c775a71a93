// Results of the newest tournament, fitted again from its comparisons on the ledger with corrections. Pure.

import { comparisonOf } from "../judges/predictions.ts"
import { type CountedObservation, newest } from "../ledger.ts"
import { cellOf, isPanelCheck, panelRanking } from "../panel/ranking.ts"
import { fitStrengths } from "../statistics/ranking/fit.ts"
import type { Merge } from "../tournament/clusters.ts"
import { type Round, roundOf, type Seat, tournamentResult } from "../tournament/result.ts"

/** Settings and results in a tournament's final observation. */
interface End {
  readonly criteria: string
  readonly alpha: number
  readonly equal_margin: number
  readonly keys: readonly string[]
  readonly merges: Merge[]
  readonly cost_millicents: number
  readonly note: string
}

/** Returns undefined without a finished tournament. */
export function tournamentSection(observations: readonly CountedObservation[]) {
  const ends = observations.filter(({ kind, details }) => kind === "decision_check" && details["method"] === "tournament")
  const end = newest(ends)
  if (!end) return undefined
  const { criteria, alpha, equal_margin: equalMargin, keys, merges, cost_millicents, note } = end.details as unknown as End
  const comparisons = observations.filter(({ kind, run_id }) => kind === "comparison" && run_id === end.run_id)
  const rounds = comparisons.map(correctedRound)
  const fitted = fitStrengths(comparisons.flatMap(comparisonOf), "bradley-terry", { regularise: true, keys })
  const result = tournamentResult({ merges, rounds, fitted, rule: { alpha, equalMargin }, judge_slug: end.judge_slug, stopped: note })
  const { outcome, leader_key, ranking, skipped_pairs, comparisons_to_decision, position_effect, flip_rate, judge_slug } = result
  return {
    run_id: end.run_id ?? "",
    at: end.created_at,
    judge_slug,
    criteria,
    outcome,
    leader_key,
    rounds: rounds.length,
    skipped_pairs,
    corrected: comparisons.filter(({ corrected }) => corrected).length,
    earlier_runs: ends.length - 1,
    comparisons_to_decision,
    cost_millicents,
    position_effect,
    flip_rate,
    text_from: textsFrom(comparisons.flatMap(({ details }) => viewsIn(details))),
    note,
    ranking: ranking.map(({ key: _key, ...entry }) => entry),
    merges,
  }
}

/** A corrected value belongs to the variant in `variant_key`. */
function correctedRound(observation: CountedObservation): Round {
  const round = roundOf(observation)
  if (!observation.corrected || observation.value === null) return round
  const value = observation.variant_key === round.first ? observation.value : 1 - observation.value
  return { ...round, value, seats: round.seats as Seat[] }
}

function viewsIn({ shown }: CountedObservation["details"]): unknown[] {
  return Object.values((shown ?? {}) as Record<string, { readonly text_from?: string }>).map(({ text_from }) => text_from)
}

// Results of the newest panel, from its cells on the ledger with corrections. Pure.

/** Returns undefined without a finished panel. */
export function panelSection(observations: readonly CountedObservation[]) {
  const ends = observations.filter(isPanelCheck)
  const end = newest(ends)
  if (!end) return undefined
  const cells = observations.filter(({ kind, run_id }) => kind === "panel" && run_id === end.run_id)
  const scores = cells.map(cellOf)
  const inOrder = listedIn(end, "ranking", "variant_key")
  const variants = inOrder.length > 0 ? inOrder : [...new Set(scores.map(({ variant }) => variant))]
  const personas = [...new Set([...listedIn(end, "persona_scores", "persona_slug"), ...scores.map(({ persona }) => persona)])].sort()
  return {
    run_id: end.run_id ?? "",
    at: end.created_at,
    judge_slug: end.judge_slug,
    personas,
    cells: scores.length,
    corrected: cells.filter(({ corrected }) => corrected).length,
    earlier_runs: ends.length - 1,
    text_from: textsFrom(cells.map(({ details }) => details["text_from"])),
    ...panelRanking(scores, variants, personas),
  }
}

type TextsFrom = "browser" | "html" | "mixed" | "unknown"

/** Returns the common source of the pages' texts. */
function textsFrom(views: readonly unknown[]): TextsFrom {
  const sources = [...new Set(views.filter((source) => source === "browser" || source === "html"))]
  return sources.length > 1 ? "mixed" : ((sources[0] as TextsFrom | undefined) ?? "unknown")
}

function listedIn({ details }: CountedObservation, list: string, field: string): string[] {
  const items = details[list]
  return Array.isArray(items) ? [...new Set(items.map((item) => String((item as Record<string, unknown>)[field])))] : []
}
