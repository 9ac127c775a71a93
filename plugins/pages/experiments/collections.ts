// States of experiments, and the ledger of their observations.
import { type Document, defineCollection, type Json } from "#core"
import type { StoredExperiment } from "./experiment.ts"

export type { StoredExperiment }

export const statuses = ["draft", "running", "decided", "archived"] as const
export type ExperimentStatus = (typeof statuses)[number]

export type Goal = StoredExperiment["goal"]
export type Guardrail = StoredExperiment["guardrails"][number]
/** Statistics of real visitors. */
export type ExperimentPlan = StoredExperiment["plan"]
/** A rule by which the page's weights follow the chance of each variant to be the best. */
export type AllocationRule = NonNullable<StoredExperiment["allocation"]>
export type ExperimentVariant = StoredExperiment["variants"][number]

export const observationKinds = ["comparison", "score", "panel", "decision_check", "defect", "live", "decision"] as const
export type ObservationKind = (typeof observationKinds)[number]

/** Observations are immutable. A correction is another observation with the id of the wrong one. */
export interface StoredObservation extends Document {
  kind: ObservationKind
  experiment_id: string
  experiment_slug: string
  /** "" where it is of no variant alone. */
  variant_key: string
  /** Of a comparison: the other one. */
  other_variant_key: string
  /** `human:<user_id>`, `agent:<credential_id>`, `model:<model>@<prompt version>`, `persona:<slug>` or `live:<metric>`. */
  judge_slug: string
  value: number | null
  reason: string
  details: Record<string, Json>
  /** The panel or tournament that it is of. */
  run_id: string | null
  created_at: string
}

export const ObservationCollection = defineCollection<StoredObservation>()({
  name: "experiment_observations",
  scope: "organization",
  times: ["created_at"],
  indexes: [
    { fields: ["experiment_id", "-created_at"] },
    { fields: ["kind", "-created_at"] },
    { fields: ["experiment_id", "kind", "-created_at"] },
    { fields: ["experiment_id", "variant_key", "-created_at"] },
    { fields: ["experiment_id", "judge_slug", "-created_at"] },
    { fields: ["experiment_id", "run_id", "-created_at"] },
  ],
})
