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

const variant = { title: "Variant", text: (row: { readonly variant_key: string }) => row.variant_key, isKey: true }

export const summaryColumns: readonly Column<Report["summary"][number]>[] = [
  variant,
  { title: "Conversion rate", text: (row) => orDash(row.conversion_rate, percentText), isNumber: true },
  { title: "Panel score, 1 to 5", text: (row) => orDash(row.panel_score, scoreText), isNumber: true },
  { title: "Panel rank", text: (row) => orDash(row.panel_rank), isNumber: true },
  { title: "Tournament strength", text: (row) => orDash(row.tournament_strength, scoreText), isNumber: true },
  { title: "Tournament rank", text: (row) => orDash(row.tournament_rank), isNumber: true },
  { title: "Remarks", text: (row) => String(row.feedback), isNumber: true },
]

export const rateColumns: readonly Column<LiveSection["variants"][number]>[] = [
  variant,
  { title: "Visitors", text: (row) => countText(row.visitors), isNumber: true },
  { title: "Conversions", text: (row) => countText(row.conversions), isNumber: true },
  { title: "Rate", text: (row) => orDash(row.rate, percentText), isNumber: true },
  { title: "Interval", text: (row) => intervalText(row.rate_low, row.rate_high, percentText), isNumber: true },
]

export const guardrailColumns: readonly Column<LiveSection["guardrails"][number]>[] = [
  { title: "Metric", text: (row) => row.metric, isKey: true },
  variant,
  { title: "Value", text: (row) => orDash(row.value, scoreText), isNumber: true },
  { title: "Interval", text: (row) => intervalText(row.low, row.high, scoreText), isNumber: true },
]

export const panelColumns: readonly Column<Panel["ranking"][number]>[] = [
  variant,
  { title: "Rank", text: (row) => orDash(row.score === null ? null : row.rank), isNumber: true },
  { title: "Score", text: (row) => orDash(row.score, scoreText), isNumber: true },
  { title: "Interval", text: ({ interval }) => intervalText(interval?.low, interval?.high, scoreText), isNumber: true },
]

const persona = { title: "Persona", text: (row: { readonly persona_slug: string }) => row.persona_slug, isKey: true }

export const personaColumns: readonly Column<Panel["persona_scores"][number]>[] = [
  persona,
  variant,
  { title: "Score", text: (row) => orDash(row.score, scoreText), isNumber: true },
  { title: "Draws", text: (row) => String(row.draws), isNumber: true },
]

export const failureColumns: readonly Column<Panel["failed_cells"][number]>[] = [
  persona,
  variant,
  { title: "Draw", text: (row) => String(row.draw), isNumber: true },
  { title: "Why", text: (row) => row.reason },
]

export const tournamentColumns: readonly Column<Tournament["ranking"][number]>[] = [
  { title: "Variant", text: (row) => row.represents.join(", "), isKey: true },
  { title: "Rank", text: (row) => String(row.rank), isNumber: true },
  { title: "Strength", text: (row) => strengthText(row.strength), isNumber: true },
  { title: "Interval", text: (row) => intervalText(row.low, row.high, strengthText), isNumber: true },
  { title: "Win rate expected", text: (row) => percentText(row.score), isNumber: true },
  { title: "Comparisons", text: (row) => countText(row.comparisons), isNumber: true },
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
