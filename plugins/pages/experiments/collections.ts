// What is kept of experiments: the resource, its ledger of observations, and the personas that panels are made of.
import { type Document, defineCollection, type Json } from "#core"

export const statuses = ["draft", "running", "decided", "archived"] as const
export type ExperimentStatus = (typeof statuses)[number]

/** What a visitor does where the experiment's goal is reached. */
export type Goal =
  | { kind: "lead" }
  | { kind: "page_event"; event: string; element?: string }
  | { kind: "dataset"; dataset_slug: string; where: Record<string, string | number | boolean> }

export interface Guardrail {
  metric: string
  /** Percent by which a variant may be worse than the first one. */
  max_increase_percent: number
}

/** Of the statistics of real visitors. */
export interface ExperimentPlan {
  alpha: number
  power: number
  minimum_effect_percent: number
  cost_per_visitor_millicents: number | null
}

/** Has the page's weights follow how likely each variant is the best. */
export interface AllocationRule {
  kind: "thompson"
  /** Least share of each variant. */
  floor: number
  prior: "tournament" | "none"
  interval: "1h" | "6h" | "1d"
}

export interface ExperimentVariant {
  key: string
  /** Key of the variant of the page that it is. */
  page_variant: string
}

export interface Decision {
  /** "" where none was chosen. */
  variant_key: string
  reason: string
  decided_by: string
  decided_at: string
}

export interface StoredExperiment extends Document {
  slug: string
  name: string
  hypothesis: string
  /** UUID; null until a page is named. */
  page_id: string | null
  variants: ExperimentVariant[]
  goal: Goal
  guardrails: Guardrail[]
  /** Absent in experiments of earlier versions, as are `allocation` and `ended_at`. */
  plan?: ExperimentPlan
  /** Null, or absent: the page's weights stay as they are set. */
  allocation?: AllocationRule | null
  status: ExperimentStatus
  decision: Decision | null
  revision: number
  created_at: string
  updated_at: string
  started_at: string | null
  /** When it was decided or archived. */
  ended_at?: string | null
}

export const ExperimentCollection = defineCollection<StoredExperiment>()({
  name: "page_experiments",
  scope: "organization",
  times: ["created_at", "updated_at", "started_at", "ended_at"],
  indexes: [{ fields: ["slug"], unique: true }, { fields: ["status"] }],
})

export const observationKinds = ["comparison", "score", "panel", "decision_check", "defect", "live", "decision"] as const
export type ObservationKind = (typeof observationKinds)[number]

/** Never changed, never removed: what was wrong is corrected by another one that names it. */
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
