// Visitors' results for the report: counted now, or from the ledger. Pure.
import type { ExperimentVariant } from "../collections.ts"
import { type CountedObservation, newest } from "../ledger.ts"
import { conversionJudge } from "../live/record.ts"
import type { LiveEvidence } from "../live/resource.ts"
import type { LiveSection } from "./resource.ts"

/** Returns undefined for an experiment that was never started. */
export function countedSection({ verdict, as_of, sample_ratio, variants, guardrails, series }: LiveEvidence): LiveSection | undefined {
  if (verdict.outcome === "not_started") return undefined
  return {
    source: "visitors",
    as_of,
    ...verdict,
    sample_ratio: { verdict: sample_ratio.verdict, p_value: sample_ratio.p_value },
    variants: variants.map(seenIn),
    guardrails: guardrails.flatMap(({ metric, variants }) =>
      variants.map(({ variant_key, value, low, high, verdict }) => ({ metric, variant_key, value, low, high, verdict })),
    ),
    series: series.map(({ at, variants }) => ({ at, variants: variants.map(seenIn) })),
  }
}

/** Returns undefined without observations of visitors. The series has one point per recording. */
export function recordedSection(
  observations: readonly CountedObservation[],
  variants: readonly ExperimentVariant[],
): LiveSection | undefined {
  const placeOf = new Map(variants.map(({ key }, place) => [key, place]))
  const place = ({ variant_key }: CountedObservation) => placeOf.get(variant_key) ?? variants.length
  const live = observations.filter(({ kind }) => kind === "live").sort((left, right) => place(left) - place(right))
  const conversions = live.filter(({ judge_slug }) => judge_slug === conversionJudge)
  const last = newest(conversions)
  if (!last) return undefined
  const occasion = last.details["occasion"]
  const ofLast = live.filter(({ details }) => details["occasion"] === occasion)
  const check = newest(observations.filter(({ kind, judge_slug }) => kind === "decision_check" && judge_slug === conversionJudge))
  const verdict = check?.details["verdict"] as { outcome: string; leader_key: string; message: string } | undefined
  const ratio = ofLast.find(({ judge_slug }) => judge_slug === "live:sample_ratio")
  const occasions = [...Map.groupBy(conversions, ({ details }) => details["occasion"]).values()]
  return {
    source: "ledger",
    as_of: asOf(last),
    outcome: verdict?.outcome ?? "",
    leader_key: verdict?.leader_key ?? "",
    message: verdict?.message ?? "",
    sample_ratio: ratio ? { verdict: String(ratio.details["verdict"]), p_value: ratio.value ?? 1 } : null,
    variants: ofLast.filter(({ judge_slug }) => judge_slug === conversionJudge).map(seenOn),
    guardrails: ofLast
      .filter(({ judge_slug, variant_key }) => judge_slug !== conversionJudge && variant_key !== "")
      .map(({ judge_slug, variant_key, value, details }) => ({
        metric: judge_slug.slice("live:".length),
        variant_key,
        value,
        low: Number(details["low"] ?? 0),
        high: details["high"] === null || details["high"] === undefined ? null : Number(details["high"]),
        verdict: String(details["verdict"]),
      })),
    series: occasions
      .map((all) => ({ at: asOf(all[0] as CountedObservation), variants: all.map(seenOn) }))
      .sort((left, right) => (left.at < right.at ? -1 : 1)),
  }
}

function seenIn({ variant_key, visitors, conversions, rate, rate_low, rate_high }: LiveSection["variants"][number]) {
  return { variant_key, visitors, conversions, rate, rate_low, rate_high }
}

function seenOn({ variant_key, value, details }: CountedObservation): LiveSection["variants"][number] {
  const of = (field: string) => Number(details[field] ?? 0)
  return {
    variant_key,
    visitors: of("visitors"),
    conversions: of("conversions"),
    rate: value,
    rate_low: of("rate_low"),
    rate_high: of("rate_high"),
  }
}

function asOf({ details, created_at }: CountedObservation): string {
  return typeof details["as_of"] === "string" ? details["as_of"] : created_at
}
