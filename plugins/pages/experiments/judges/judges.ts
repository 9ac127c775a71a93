// The cards of an organization's judges, read from its ledger.
import { type Store, token } from "#core"
import { ObservationCollection, type StoredObservation } from "../collections.ts"
import { ExperimentResource } from "../experiment.ts"
import { counted, isCorrection } from "../ledger-reading.ts"
import { type Calibration, calibrationOf, type Prediction } from "./calibration.ts"
import { healthOf, type JudgeHealth } from "./health.ts"
import { outcomeOf } from "./outcome.ts"
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
/** Read for calibration; older experiments than these reach do not count. */
const maxObservations = 200_000

export function createJudges({ store }: { readonly store: Store }): Judges {
  async function health(organization: string): Promise<Map<string, JudgeHealth>> {
    const found = await newestComparisons(store, organization)
    const byJudge = Map.groupBy(found, ({ judge_slug }) => judge_slug)
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
      for await (const one of store.open(ObservationCollection, organization).stream({ experiment_id: id })) {
        signal.throwIfAborted()
        observations.push(one)
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
      const [cards, foretold] = [await health(organization), await predictions(organization, signal)]
      const judges = [...new Set([...cards.keys(), ...foretold.keys()])].filter((judge) => kindOf(judge) !== undefined)
      return judges.sort().map((judge_slug) => ({
        judge_slug,
        kind: kindOf(judge_slug) ?? "model",
        health: cards.get(judge_slug) ?? null,
        calibration: calibrationOf(foretold.get(judge_slug) ?? []),
      }))
    },
  }
}

/** Oldest first. */
async function newestComparisons(store: Store, organization: string): Promise<StoredObservation[]> {
  const found: StoredObservation[] = []
  const newest = store
    .open(ObservationCollection, organization)
    .stream({ kind: "comparison" }, { sort: { created_at: -1 }, limit: maxComparisons })
  for await (const one of newest) if (!isCorrection(one)) found.push(one)
  return found.reverse()
}

/** Undefined of people, and of what visitors did. */
function kindOf(judge: string): JudgeCard["kind"] | undefined {
  if (judge.startsWith("persona:")) return "persona"
  if (!judge.startsWith("model:")) return undefined
  return judge.endsWith("@panel") ? "panel" : "model"
}
