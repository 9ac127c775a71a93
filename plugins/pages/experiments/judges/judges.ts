// Cards of an organization's judges, read from its ledger.
import { type Store, token } from "#core"
import { ObservationCollection, type StoredObservation } from "../collections.ts"
import { ExperimentResource } from "../experiment.ts"
import { type CountedObservation, counted, isCorrection, newest } from "../ledger.ts"
import { conversionJudge } from "../live/record.ts"
import { type Calibration, calibrationOf, type LiveOutcome, type Prediction } from "./calibration.ts"
import { healthOf, type JudgeHealth } from "./health.ts"
import { predictionsOf } from "./predictions.ts"

export interface JudgeCard {
  readonly judge_slug: string
  readonly kind: "model" | "panel" | "persona"
  readonly health: JudgeHealth | null
  readonly calibration: Calibration
}

export interface Judges {
  cards(organization: string, signal: AbortSignal): Promise<JudgeCard[]>
}

export const Judges = token<Judges>("Judges")

const maxComparisons = 10_000
const maxExperiments = 500
/** Bound of observations read for calibration. Older experiments do not count. */
const maxObservations = 200_000

export function createJudges({ store }: { readonly store: Store }): Judges {
  async function health(organization: string): Promise<Map<string, JudgeHealth>> {
    const comparisons = await newestComparisons(store, organization)
    const byJudge = Map.groupBy(comparisons, ({ judge_slug }) => judge_slug)
    return new Map([...byJudge].map(([judge, all]) => [judge, healthOf(all)]))
  }

  async function predictions(organization: string, signal: AbortSignal): Promise<Map<string, Prediction[]>> {
    const byJudge = new Map<string, Prediction[]>()
    const decided = await store
      .open(ExperimentResource.collection, organization)
      .find({ status: "decided" }, { sort: { id: -1 }, limit: maxExperiments })
    let read = 0
    for (const { id } of decided) {
      const observations: StoredObservation[] = []
      for await (const observation of store.open(ObservationCollection, organization).stream({ experiment_id: id })) {
        signal.throwIfAborted()
        observations.push(observation)
        if (++read > maxObservations) return byJudge
      }
      const counting = counted(observations)
      const outcome = outcomeOf(counting)
      if (!outcome) continue
      for (const [judge, scores] of predictionsOf(counting)) byJudge.set(judge, [...(byJudge.get(judge) ?? []), { outcome, scores }])
    }
    return byJudge
  }

  return {
    async cards(organization, signal) {
      const [cards, predicted] = [await health(organization), await predictions(organization, signal)]
      const judges = [...new Set([...cards.keys(), ...predicted.keys()])].filter((judge) => kindOf(judge) !== undefined)
      return judges.sort().map((judge_slug) => ({
        judge_slug,
        kind: kindOf(judge_slug) ?? "model",
        health: cards.get(judge_slug) ?? null,
        calibration: calibrationOf(predicted.get(judge_slug) ?? []),
      }))
    },
  }
}

/** Oldest first. */
async function newestComparisons(store: Store, organization: string): Promise<StoredObservation[]> {
  const observations: StoredObservation[] = []
  const newest = store
    .open(ObservationCollection, organization)
    .stream({ kind: "comparison" }, { sort: { created_at: -1 }, limit: maxComparisons })
  for await (const observation of newest) if (!isCorrection(observation)) observations.push(observation)
  return observations.reverse()
}

/** Returns undefined for people and visitors. */
function kindOf(judge: string): JudgeCard["kind"] | undefined {
  if (judge.startsWith("persona:")) return "persona"
  if (!judge.startsWith("model:")) return undefined
  return judge.endsWith("@panel") ? "panel" : "model"
}

// Results of visitors from the ledger of a decided experiment: the live evidence recorded with the decision. Pure.

/** Returns undefined unless visitors of two variants were counted. */
function outcomeOf(observations: readonly CountedObservation[]): LiveOutcome | undefined {
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
