// Computes live evidence from counts: sample ratio, conversion, guardrails, the verdict, and the remaining time to a decision.
// Pure.
import { timestamp } from "#core"
import type { ExperimentPlan, StoredExperiment } from "../collections.ts"
import { type Conversion, conversionSeries, conversions } from "./conversion.ts"
import { type CountedVisitors, dayMs, type Period, sumOf } from "./counts.ts"
import { guarded } from "./guardrails.ts"
import type { LiveEvidence } from "./resource.ts"
import { checkRatio, type RatioCheck } from "./sample-ratio-check.ts"

const weekMs = 7 * dayMs
const behindMs = 10 * 60_000
/** Alpha of the sample ratio. Low, since an alarm stops every verdict. */
const ratioAlpha = 0.01

export type WindowKind = LiveEvidence["window"]["kind"]

export interface CountedExperiment extends CountedVisitors {
  readonly experiment: StoredExperiment
  readonly plan: ExperimentPlan
  readonly kind: WindowKind
}

/** Returns true if the counts may lack events of the last minutes. */
export function isBehind(asOf: string | null, now: number): boolean {
  return asOf === null || Date.parse(asOf) < now - behindMs
}

/** Returns the number of completed weeks. */
function fullWeeks({ from, until }: Period): number {
  return from === undefined ? 0 : Math.max(0, Math.floor((until - from) / weekMs))
}

/** Returns the number of days that count for verdicts; Infinity: all days. */
export function windowDays(kind: WindowKind, period: Period): number {
  const weeks = fullWeeks(period)
  return kind === "full_weeks" && weeks > 0 ? weeks * 7 : Number.POSITIVE_INFINITY
}

/** Excludes the causes of an alarm; they need another count. */
export function liveEvidence(counted: CountedExperiment): LiveEvidence {
  const { experiment, plan, period, kind, counts, segments, weights } = counted
  const keys = experiment.variants.map(({ key }) => key)
  const ratio = checkRatio(counts.cells, segments, keys.length)
  const limit = windowDays(kind, period)
  const cells = counts.cells.filter(({ day }) => day < limit)
  const results = conversions({ variants: keys, segments, cells }, plan.alpha)
  const guardrails = experiment.guardrails.map((rail) =>
    guarded(rail, { variants: keys, segments, cells, vitals: counts.vitals }, plan.alpha),
  )
  const verdict = verdictOf({ ...counted, ratio, found: results, guardrails })
  const visitors = sumOf(cells, "visitors")
  return {
    experiment_slug: experiment.slug,
    status: experiment.status,
    as_of: counted.asOf,
    analytics_enabled: counted.enabled,
    alpha: plan.alpha,
    window: windowOf(kind, period),
    visitors,
    conversions: results.reduce((sum, { seen }) => sum + seen.conversions, 0),
    unlinked_conversions: counted.unlinked,
    sample_ratio: ratioShown(keys, ratio, period),
    variants: experiment.variants.map(({ page_variant }, place) => ({
      ...(results[place] as Conversion).seen,
      page_variant,
      weight: weights[page_variant] ?? null,
      to_control: results[place]?.toControl ?? null,
    })),
    guardrails,
    series: seriesOf(counted, ratio),
    verdict,
    to_decision: verdict.outcome === "cannot_tell" && experiment.status === "running" ? remaining(results, visitors, counted) : null,
    allocation: segments.map(({ from, shares }) => ({
      from: timestamp(from),
      shares: Object.fromEntries(keys.map((key, place) => [key, shares[place] ?? 0])),
    })),
  }
}

function windowOf(kind: WindowKind, period: Period): LiveEvidence["window"] {
  const { from, until } = period
  const days = windowDays(kind, period)
  return {
    kind,
    from: from === undefined ? null : timestamp(from),
    until: from === undefined ? null : timestamp(Math.min(until, from + days * dayMs)),
    full_weeks: fullWeeks(period),
  }
}

function ratioShown(
  keys: readonly string[],
  { days, pValue, variants }: RatioCheck,
  { from = 0, until }: Period,
): LiveEvidence["sample_ratio"] {
  const alarm = days.find((day) => day.pValue <= ratioAlpha)
  const total = variants.reduce((sum, { visitors }) => sum + visitors, 0)
  return {
    verdict: alarm ? "alarm" : total === 0 ? "no_visitors" : "as_expected",
    p_value: pValue,
    alpha: ratioAlpha,
    first_alarm_at: alarm ? timestamp(endOf(alarm.day, from, until)) : null,
    variants: variants.map((variant, place) => ({ variant_key: keys[place] ?? "", ...variant })),
    causes: [],
  }
}

function endOf(day: number, from: number, until: number): number {
  return Math.min(until, from + (day + 1) * dayMs)
}

function seriesOf({ experiment, plan, period, counts, segments }: CountedExperiment, ratio: RatioCheck): LiveEvidence["series"] {
  const { from = 0, until } = period
  const variants = experiment.variants.map(({ key }) => key)
  const pValues = new Map(ratio.days.map(({ day, pValue }) => [day, pValue]))
  return conversionSeries({ variants, segments, cells: counts.cells }, plan.alpha).map(({ day, variants }) => ({
    at: timestamp(endOf(day, from, until)),
    day: day + 1,
    p_value: pValues.get(day) ?? 1,
    variants,
  }))
}

interface Judged extends CountedExperiment {
  readonly ratio: RatioCheck
  readonly found: readonly Conversion[]
  readonly guardrails: LiveEvidence["guardrails"]
}

function verdictOf({ experiment, period, kind, ratio, found, guardrails }: Judged): LiveEvidence["verdict"] {
  if (period.from === undefined) {
    return { outcome: "not_started", leader_key: "", message: "The experiment has not started; nobody counts yet." }
  }
  if (ratio.pValue <= ratioAlpha) {
    const message = "Visitors do not fall to the variants as the weights say; find the cause before deciding by these counts."
    return { outcome: "sample_ratio_mismatch", leader_key: "", message }
  }
  const cannotTell = (message: string) => ({ outcome: "cannot_tell", leader_key: "", message }) as const
  if (kind === "full_weeks" && fullWeeks(period) === 0) {
    const until = timestamp(period.from + weekMs)
    return cannotTell(
      experiment.status === "running"
        ? `The first full week is over at ${until}.`
        : "The experiment ended before its first full week was over.",
    )
  }
  const others = found.flatMap(({ seen, toControl }) => (toControl ? [{ key: seen.variant_key, ...toControl }] : []))
  const better = others
    .filter(({ verdict }) => verdict === "better")
    .sort((left, right) => (right.difference ?? 0) - (left.difference ?? 0))
  const harmed = (key: string) =>
    guardrails
      .filter(({ variants }) => variants.some((variant) => variant.variant_key === key && variant.verdict === "harmed"))
      .map(({ metric }) => metric)
  const leader = better.find(({ key }) => harmed(key).length === 0)
  if (leader)
    return { outcome: "better", leader_key: leader.key, message: `${leader.key} converts better than ${found[0]?.seen.variant_key}.` }
  const [first] = better
  if (first) return cannotTell(`${first.key} converts better, and harms ${harmed(first.key).join(", ")}: weigh the two.`)
  if (others.length > 0 && others.every(({ verdict }) => verdict === "worse")) {
    const key = found[0]?.seen.variant_key ?? ""
    return { outcome: "control", leader_key: key, message: `Every other variant converts worse than ${key}.` }
  }
  return cannotTell("The intervals of the differences hold 0: none is told from the control yet.")
}

/**
 * Returns the visitors and days until one variant is proven better. If no variant looks better, until all variants are proven
 * worse.
 */
function remaining(results: readonly Conversion[], visitors: number, { period, plan }: CountedExperiment): LiveEvidence["to_decision"] {
  const others = results.flatMap(({ toControl, factor }) =>
    toControl && factor !== undefined ? [{ factor, up: (toControl.difference ?? 0) > 0 }] : [],
  )
  const up = others.filter((other) => other.up).map(({ factor }) => factor)
  const factor = up.length > 0 ? Math.min(...up) : Math.max(...others.map((other) => other.factor))
  if (!Number.isFinite(factor) || visitors === 0) return null
  const more = Math.max(0, Math.ceil((factor - 1) * visitors))
  const days = (period.until - (period.from ?? period.until)) / dayMs
  const weeks = windowDays("full_weeks", period)
  const counted = Number.isFinite(weeks) ? weeks : days
  return {
    visitors: more,
    days: counted > 0 ? more / (visitors / counted) : null,
    millicents: plan.cost_per_visitor_millicents === null ? null : more * plan.cost_per_visitor_millicents,
  }
}
