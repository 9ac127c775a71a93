// Stores live evidence as observations on the ledger: one per metric and variant, and one for the sample ratio.
import { derivedUuid, type Json, type UnitOfWork } from "#core"
import type { StoredExperiment, StoredObservation } from "../collections.ts"
import type { Ledger, NewObservation } from "../ledger.ts"
import type { LiveEvidence } from "./resource.ts"

export const conversionJudge = "live:conversion"

/**
 * Stages the observations. `occasion`: the day or decision behind them. Repeated recordings of one occasion have the same ids.
 */
export function recordLive(
  ledger: Ledger,
  work: UnitOfWork,
  organization: string,
  { experiment, live, occasion }: { experiment: StoredExperiment; live: LiveEvidence; occasion: string },
): StoredObservation[] {
  return observationsOf(live).map((observation) => {
    const id = derivedUuid("live", experiment.id, occasion, observation.judge_slug, observation.variant_key ?? "")
    return ledger.add(work, organization, experiment, { ...observation, id, details: { ...observation.details, occasion } })
  })
}

function observationsOf({ as_of, window, variants, guardrails, sample_ratio, verdict, alpha }: LiveEvidence): NewObservation[] {
  const when = { as_of, window } as unknown as Record<string, Json>
  const conversion = variants.map(
    ({ variant_key, page_variant: _page, rate, ...details }): NewObservation => ({
      kind: "live",
      judge_slug: conversionJudge,
      variant_key,
      value: rate,
      reason: details.to_control ? describeVerdict(details.to_control.verdict) : "",
      details: { ...when, alpha, ...details } as unknown as Record<string, Json>,
    }),
  )
  const guarded = guardrails.flatMap(({ metric, max_increase_percent, variants }) =>
    variants.map(
      ({ variant_key, value, ...details }): NewObservation => ({
        kind: "live",
        judge_slug: `live:${metric}`,
        variant_key,
        value,
        reason: details.verdict,
        details: { ...when, max_increase_percent, ...details } as unknown as Record<string, Json>,
      }),
    ),
  )
  const ratio: NewObservation = {
    kind: "live",
    judge_slug: "live:sample_ratio",
    value: sample_ratio.p_value,
    reason: sample_ratio.verdict === "alarm" ? verdict.message : sample_ratio.verdict,
    details: { as_of, ...sample_ratio } as unknown as Record<string, Json>,
  }
  return [...conversion, ...guarded, ratio]
}

function describeVerdict(verdict: "better" | "worse" | "cannot_tell"): string {
  return { better: "Better than the control.", worse: "Worse than the control.", cannot_tell: "Not told from the control yet." }[verdict]
}
