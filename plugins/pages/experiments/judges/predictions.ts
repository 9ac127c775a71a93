// Scores of an experiment's variants by each judge, persona and panel. Pure.
import { type CountedObservation, newest } from "../ledger.ts"
import { isPanelCheck } from "../panel/ranking.ts"
import type { Comparison } from "../statistics/ranking/comparisons.ts"
import { fitStrengths } from "../statistics/ranking/fit.ts"

/**
 * Returns scores of variants by judge, from the counted observations of one experiment. Includes panels, personas and comparing
 * models.
 */
export function predictionsOf(observations: readonly CountedObservation[]): Map<string, Map<string, number>> {
  const predictions = new Map<string, Map<string, number>>()
  const byJudge = Map.groupBy(observations, ({ judge_slug }) => judge_slug)
  for (const [judge, all] of byJudge) {
    const comparisons = all.flatMap(comparisonOf)
    if (comparisons.length > 0) predictions.set(judge, strengths(comparisons))
    const ratings = all.filter(({ kind, value }) => kind === "panel" && value !== null)
    if (ratings.length > 0) predictions.set(judge, means(ratings))
    const panel = newest(all.filter(isPanelCheck))
    if (panel) predictions.set(judge, panelScores(panel))
  }
  return predictions
}

export function comparisonOf({ kind, variant_key, other_variant_key, value }: CountedObservation): Comparison[] {
  if (kind !== "comparison" || value === null) return []
  return [{ a: variant_key, b: other_variant_key, winner: value > 0.5 ? "a" : value < 0.5 ? "b" : "tie", count: 1 }]
}

function strengths(comparisons: readonly Comparison[]): Map<string, number> {
  const { keys, strengths } = fitStrengths(comparisons, "bradley-terry", { regularise: true })
  // Rounded: the iteration leaves smaller differences open.
  return new Map(keys.map((key, place) => [key, Math.round((strengths[place] ?? 0) * 1e6) / 1e6]))
}

function means(ratings: readonly CountedObservation[]): Map<string, number> {
  const byVariant = Map.groupBy(ratings, ({ variant_key }) => variant_key)
  return new Map([...byVariant].map(([key, all]) => [key, all.reduce((sum, { value }) => sum + (value ?? 0), 0) / all.length]))
}

function panelScores({ details }: CountedObservation): Map<string, number> {
  const ranking = (details["ranking"] ?? []) as unknown as readonly { readonly variant_key: string; readonly score: number | null }[]
  return new Map(ranking.flatMap(({ variant_key, score }) => (score === null ? [] : [[variant_key, score] as const])))
}
