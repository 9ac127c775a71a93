// Guardrails: web vitals at their 75th percentile and friction events, each against the first variant.
// The intervals are valid at all times. Pure.
import type { Guardrail } from "../collections.ts"
import { ratioInterval, weightedRates } from "../statistics/contrast.ts"
import { type QuantileEstimate, quantileInterval } from "../statistics/quantile.ts"
import { rateInterval } from "../statistics/rate.ts"
import { vitalMetrics } from "./counting-query.ts"
import { type Cell, type CountedEvent, cellsByDay, Pair, type VitalBin } from "./counts.ts"
import type { WeightSegment } from "./page-weights.ts"
import type { LiveEvidence } from "./resource.ts"

type Guarded = LiveEvidence["guardrails"][number]["variants"][number]

export interface GuardrailCounts {
  readonly variants: readonly string[]
  readonly segments: readonly WeightSegment[]
  readonly cells: readonly Cell[]
  readonly vitals: readonly VitalBin[]
}

const percentile = 0.75

/** `alpha`: probability of any wrong verdict of the metric. */
export function guarded(rail: Guardrail, counts: GuardrailCounts, alpha: number): LiveEvidence["guardrails"][number] {
  const level = alpha / Math.max(1, counts.variants.length - 1)
  const variants = vitalMetrics.some((metric) => metric === rail.metric) ? ofVital(rail, counts, level) : ofFriction(rail, counts, level)
  return { metric: rail.metric, max_increase_percent: rail.max_increase_percent, variants }
}

function ofVital({ metric, max_increase_percent }: Guardrail, { variants, vitals }: GuardrailCounts, alpha: number): Guarded[] {
  // Each of a comparison's two intervals gets half of alpha.
  const estimates = variants.map((_, place) =>
    quantileInterval(
      vitals.filter((bin) => bin.metric === metric && bin.variant === place),
      percentile,
      alpha / 2,
    ),
  )
  const [control] = estimates
  return estimates.map((own, place) => {
    const group = { variant_key: variants[place] ?? "", n: own.n, value: own.value ?? null, low: own.low, high: finite(own.high) }
    if (place === 0 || !control) return { ...group, ...ofControl }
    return { ...group, ...increase(quotient(own, control), max_increase_percent) }
  })
}

function quotient(own: QuantileEstimate, control: QuantileEstimate) {
  const value = own.value !== undefined && control.value ? own.value / control.value : undefined
  return {
    value,
    low: Number.isFinite(control.high) && control.high > 0 ? own.low / control.high : 0,
    high: control.low > 0 ? own.high / control.low : Number.POSITIVE_INFINITY,
  }
}

function ofFriction({ metric, max_increase_percent }: Guardrail, counts: GuardrailCounts, alpha: number): Guarded[] {
  const event = metric as CountedEvent
  const days = cellsByDay(counts.cells)
  return counts.variants.map((variant_key, place) => {
    const own = counts.cells.filter(({ variant }) => variant === place)
    const n = own.reduce((sum, { visitors }) => sum + visitors, 0)
    const s = own.reduce((sum, cell) => sum + cell[event], 0)
    const group = { variant_key, n, value: n > 0 ? s / n : null, ...rateInterval({ n, s }, alpha) }
    if (place === 0) return { ...group, ...ofControl }
    const pair = new Pair(counts.segments, place, 0, event)
    for (const { cells } of days) pair.add(cells)
    const rates = weightedRates(pair.groups)
    const value = rates && rates.control > 0 ? rates.variant / rates.control : undefined
    return { ...group, ...increase({ value, ...ratioInterval(pair.groups, alpha) }, max_increase_percent) }
  })
}

const ofControl = {
  increase_percent: null,
  increase_low_percent: null,
  increase_high_percent: null,
  verdict: "control",
} as const

type Increase = Pick<Guarded, "increase_percent" | "increase_low_percent" | "increase_high_percent" | "verdict">

function increase(ratio: { value: number | undefined; low: number; high: number }, max: number): Increase {
  const percent = (factor: number) => (factor - 1) * 100
  return {
    increase_percent: ratio.value === undefined ? null : percent(ratio.value),
    increase_low_percent: percent(ratio.low),
    increase_high_percent: finite(percent(ratio.high)),
    verdict: percent(ratio.low) > max ? "harmed" : percent(ratio.high) <= max ? "not_harmed" : "cannot_tell",
  }
}

export function finite(value: number): number | null {
  return Number.isFinite(value) ? value : null
}
