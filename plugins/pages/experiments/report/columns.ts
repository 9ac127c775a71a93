// Tables and pictures of the report: columns, and rows of intervals. The exported page and the console render them.
import { countText, intervalText, orDash, percentText, scoreText, strengthText } from "./numbers.ts"
import type { LiveSection, Report } from "./resource.ts"

export interface Column<T> {
  readonly title: string
  readonly text: (row: T) => string
  readonly isNumber?: boolean
  readonly isTime?: boolean
  /** True for a key, such as the key of a variant. */
  readonly isKey?: boolean
}

type Panel = NonNullable<Report["panel"]>
type Tournament = NonNullable<Report["tournament"]>

const variant = { title: "Variant", text: (one: { readonly variant_key: string }) => one.variant_key, isKey: true }

export const summaryColumns: readonly Column<Report["summary"][number]>[] = [
  variant,
  { title: "Conversion rate", text: (one) => orDash(one.conversion_rate, percentText), isNumber: true },
  { title: "Panel score, 1 to 5", text: (one) => orDash(one.panel_score, scoreText), isNumber: true },
  { title: "Panel rank", text: (one) => orDash(one.panel_rank), isNumber: true },
  { title: "Tournament strength", text: (one) => orDash(one.tournament_strength, scoreText), isNumber: true },
  { title: "Tournament rank", text: (one) => orDash(one.tournament_rank), isNumber: true },
  { title: "Remarks", text: (one) => String(one.feedback), isNumber: true },
]

export const rateColumns: readonly Column<LiveSection["variants"][number]>[] = [
  variant,
  { title: "Visitors", text: (one) => countText(one.visitors), isNumber: true },
  { title: "Conversions", text: (one) => countText(one.conversions), isNumber: true },
  { title: "Rate", text: (one) => orDash(one.rate, percentText), isNumber: true },
  { title: "Interval", text: (one) => intervalText(one.rate_low, one.rate_high, percentText), isNumber: true },
]

export const guardrailColumns: readonly Column<LiveSection["guardrails"][number]>[] = [
  { title: "Metric", text: (one) => one.metric, isKey: true },
  variant,
  { title: "Value", text: (one) => orDash(one.value, scoreText), isNumber: true },
  { title: "Interval", text: (one) => intervalText(one.low, one.high, scoreText), isNumber: true },
]

export const panelColumns: readonly Column<Panel["ranking"][number]>[] = [
  variant,
  { title: "Rank", text: (one) => orDash(one.score === null ? null : one.rank), isNumber: true },
  { title: "Score", text: (one) => orDash(one.score, scoreText), isNumber: true },
  { title: "Interval", text: ({ interval }) => intervalText(interval?.low, interval?.high, scoreText), isNumber: true },
]

const persona = { title: "Persona", text: (one: { readonly persona_slug: string }) => one.persona_slug, isKey: true }

export const personaColumns: readonly Column<Panel["persona_scores"][number]>[] = [
  persona,
  variant,
  { title: "Score", text: (one) => orDash(one.score, scoreText), isNumber: true },
  { title: "Draws", text: (one) => String(one.draws), isNumber: true },
]

export const failureColumns: readonly Column<Panel["failed_cells"][number]>[] = [
  persona,
  variant,
  { title: "Draw", text: (one) => String(one.draw), isNumber: true },
  { title: "Why", text: (one) => one.reason },
]

export const tournamentColumns: readonly Column<Tournament["ranking"][number]>[] = [
  { title: "Variant", text: (one) => one.represents.join(", "), isKey: true },
  { title: "Rank", text: (one) => String(one.rank), isNumber: true },
  { title: "Strength", text: (one) => strengthText(one.strength), isNumber: true },
  { title: "Interval", text: (one) => intervalText(one.low, one.high, strengthText), isNumber: true },
  { title: "Win rate expected", text: (one) => percentText(one.score), isNumber: true },
  { title: "Comparisons", text: (one) => countText(one.comparisons), isNumber: true },
]

export interface IntervalRow {
  readonly label: string
  readonly value: number | null
  readonly low: number | null
  readonly high: number | null
}

export function rateRows(variants: LiveSection["variants"]): IntervalRow[] {
  return variants.map(({ variant_key, rate, rate_low, rate_high, visitors }) => ({
    label: variant_key,
    value: rate,
    low: visitors > 0 ? rate_low : null,
    high: visitors > 0 ? rate_high : null,
  }))
}

export function panelRows(ranking: Panel["ranking"]): IntervalRow[] {
  return ranking.map(({ variant_key, score, interval }) => ({
    label: variant_key,
    value: score,
    low: interval?.low ?? null,
    high: interval?.high ?? null,
  }))
}

export function strengthRows(ranking: Tournament["ranking"]): IntervalRow[] {
  return ranking.map(({ variant_key, strength, low, high }) => ({ label: variant_key, value: strength, low, high }))
}
