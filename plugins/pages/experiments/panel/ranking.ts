// Summary of a panel: variants ranked by the personas' likelihood to act, variants to drop, and each persona's scores.
// Personas are the sample: their draws are averaged first, and intervals are over personas. Pure.
import type { StoredObservation } from "../collections.ts"
import { studentT } from "../statistics/distributions.ts"
import type { Interval } from "../statistics/rate.ts"

const [lowestPoint, highestPoint] = [1, 5]

/** One answer of one persona to one variant. */
export interface Cell {
  readonly variant: string
  readonly persona: string
  readonly draw: number
  /** Expected point, 1 to 5; null if the cell failed. */
  readonly value: number | null
  /** The persona's answer, or the cause of the failure. */
  readonly reason: string
}

export function cellOf({ variant_key, judge_slug, value, reason, details }: StoredObservation): Cell {
  return { variant: variant_key, persona: judge_slug.slice("persona:".length), draw: Number(details["draw"]), value, reason }
}

/** Returns the ledger's judge slug for panels of a model. */
export function panelSlugOf(model: string): string {
  return `model:${model}@panel`
}

/** Returns true if an observation is the summary of a panel. */
export function isPanelCheck({ kind, judge_slug }: Pick<StoredObservation, "kind" | "judge_slug">): boolean {
  return kind === "decision_check" && judge_slug.startsWith("model:") && judge_slug.endsWith("@panel")
}

export function panelRanking(cells: readonly Cell[], variants: readonly string[], personas: readonly string[]) {
  const ofPersona = (variant: string, persona: string) =>
    cells.flatMap((cell) => (cell.variant === variant && cell.persona === persona && cell.value !== null ? [cell.value] : []))
  const persona_scores = variants.flatMap((variant_key) =>
    personas.map((persona_slug) => {
      const values = ofPersona(variant_key, persona_slug)
      return { persona_slug, variant_key, score: mean(values), interval: onScale(intervalOf(values)), draws: values.length }
    }),
  )
  const means = (variant: string) => personas.map((persona) => mean(ofPersona(variant, persona)))
  const scored = variants
    .map((variant_key) => {
      const values = means(variant_key).filter((value) => value !== null)
      // One persona is too few for an interval over personas. The interval then covers its draws.
      const sample = personas.length > 1 ? values : ofPersona(variant_key, personas[0] ?? "")
      return { variant_key, score: mean(values), interval: onScale(intervalOf(sample)) }
    })
    .sort((left, right) => (right.score ?? 0) - (left.score ?? 0))
  const ranking = scored.map((entry, place) => ({ ...entry, rank: rankOf(scored, place) }))
  const leader = ranking[0]
  // Paired differences may be clearer than the intervals. A variant with the leader's rank stays.
  const below = ranking.filter(({ rank }) => rank > 1)
  const kill_list = leader ? below.flatMap((entry) => worse(leader.variant_key, entry.variant_key, means, cells)) : []
  const failed_cells = cells
    .filter(({ value }) => value === null)
    .map(({ persona, variant, draw, reason }) => ({ persona_slug: persona, variant_key: variant, draw, reason }))
  return { ranking, kill_list, persona_scores, failed_cells }
}

interface Scored {
  readonly score: number | null
  readonly interval: Interval | null
}

/** Variants with overlapping intervals share a rank. */
function rankOf(sorted: readonly Scored[], place: number): number {
  let rank = 1
  for (let at = 1; at <= place; at++) {
    const [before, interval] = [sorted[at - 1]?.interval, sorted[at]?.interval]
    const overlaps = before && interval ? interval.high >= before.low : sorted[at - 1]?.score === sorted[at]?.score
    if (!overlaps) rank = at + 1
  }
  return rank
}

/** Returns the variant for the kill list if the personas are less likely to act than on the leader, beyond chance. */
function worse(
  leader: string,
  variant: string,
  means: (variant: string) => (number | null)[],
  cells: readonly Cell[],
): { variant_key: string; reason: string }[] {
  const [best, own] = [means(leader), means(variant)]
  const differences = own.flatMap((value, place) => {
    const other = best[place]
    return value === null || other === null || other === undefined ? [] : [value - other]
  })
  const interval = intervalOf(differences)
  if (!interval || interval.high >= 0) return []
  const [lowest] = cells
    .filter((cell) => cell.variant === variant && cell.value !== null)
    .sort((left, right) => (left.value ?? 0) - (right.value ?? 0))
  const by = Math.abs(mean(differences) ?? 0).toFixed(2)
  return [
    {
      variant_key: variant,
      reason: `${by} points below ${leader} over ${differences.length} personas. ${lowest?.persona ?? ""} said: ${lowest?.reason ?? ""}`,
    },
  ]
}

function mean(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length
}

/** Returns the 95 % interval by Student's t; null for fewer than two values. */
function intervalOf(values: readonly number[]): Interval | null {
  const centre = mean(values)
  if (centre === null || values.length < 2) return null
  const count = values.reduce((sum, value) => sum + (value - centre) ** 2, 0) / (values.length - 1)
  // Equal ratings in whole points hide smaller differences. The variance is at least that of rounding.
  const variance = Math.max(count, values.every(Number.isInteger) ? 1 / 12 : 0)
  const half = studentT(values.length - 1) * Math.sqrt(variance / values.length)
  return { low: centre - half, high: centre + half }
}

/** Limits an interval to the scale of the answers. */
function onScale(interval: Interval | null): Interval | null {
  return interval && { low: Math.max(interval.low, lowestPoint), high: Math.min(interval.high, highestPoint) }
}
