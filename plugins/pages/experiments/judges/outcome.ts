// What visitors did, as the ledger of a decided experiment has it: the live evidence that was recorded with the decision. Pure.
import { type CountedObservation, newest } from "../ledger-reading.ts"
import { conversionJudge } from "../live/record.ts"
import type { LiveOutcome } from "./calibration.ts"

/** Undefined where no visitors of two variants were counted. */
export function outcomeOf(observations: readonly CountedObservation[]): LiveOutcome | undefined {
  const live = observations.filter(({ judge_slug }) => judge_slug === conversionJudge)
  const ofVariants = live.filter(({ kind }) => kind === "live")
  const occasion = newest(ofVariants)?.details["occasion"]
  const rates = new Map(
    ofVariants.flatMap(({ variant_key, value, details }) =>
      value === null || details["occasion"] !== occasion ? [] : [[variant_key, value] as const],
    ),
  )
  if (rates.size < 2) return undefined
  const check = newest(live.filter(({ kind }) => kind === "decision_check"))
  const verdict = check?.details["verdict"] as { readonly outcome: string; readonly leader_key: string } | undefined
  const isProven = verdict !== undefined && (verdict.outcome === "better" || verdict.outcome === "control")
  return { rates, winner: isProven ? verdict.leader_key : undefined }
}
