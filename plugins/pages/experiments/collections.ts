// Statuses of experiments, and the ledger of their observations.

import { createHash } from "node:crypto"
import { z } from "zod"
import { type Document, defineCollection, type Json, jobRef, type Scheduler, type UnitOfWork } from "#core"
import type { StoredExperiment } from "./experiment.ts"

export type { StoredExperiment }

export const statuses = ["draft", "running", "decided", "archived"] as const
export type ExperimentStatus = (typeof statuses)[number]

export type Goal = StoredExperiment["goal"]
export type Guardrail = StoredExperiment["guardrails"][number]
/** Statistics settings for real visitors. */
export type ExperimentPlan = StoredExperiment["plan"]
/** Rule for the page's weights by each variant's probability of being the best. */
export type AllocationRule = NonNullable<StoredExperiment["allocation"]>
export type ExperimentVariant = StoredExperiment["variants"][number]

export const observationKinds = ["comparison", "score", "panel", "decision_check", "defect", "live", "decision"] as const
export type ObservationKind = (typeof observationKinds)[number]

/** Observations are immutable. A correction is another observation with the id of the wrong observation. */
export interface StoredObservation extends Document {
  kind: ObservationKind
  experiment_id: string
  experiment_slug: string
  /** "" for an observation without a single variant. */
  variant_key: string
  /** Comparisons only: the other variant. */
  other_variant_key: string
  /** `human:<user_id>`, `agent:<credential_id>`, `model:<model>@<prompt version>`, `persona:<slug>` or `live:<metric>`. */
  judge_slug: string
  value: number | null
  reason: string
  details: Record<string, Json>
  /** Panel or tournament of the observation. */
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

const payload = z.strictObject({ experiment_id: z.string() })
const retry = { max_attempts: 6, initial_delay_ms: 5_000, factor: 3, max_delay_ms: 600_000 }

/** Schedules of a running experiment: daily for its ledger, and at the rule's interval for its page's weights. */
export const recordJob = jobRef("experiments.record_live", payload, { retry })
export const allocateJob = jobRef("experiments.allocate", payload, { retry })

/** Stages the schedules of an experiment by its current state, or removes them. */
export function keepSchedules(scheduler: Scheduler, work: UnitOfWork, organization: string, experiment: StoredExperiment): void {
  const { id, status, allocation } = experiment
  const running = status === "running"
  const own = { id, organization, payload: { experiment_id: id } }
  if (running) scheduler.set(work, { ...own, job: recordJob, cron: cronOf(id, "1d") })
  else scheduler.remove(work, recordJob, id)
  if (running && allocation) scheduler.set(work, { ...own, job: allocateJob, cron: cronOf(id, allocation.interval) })
  else scheduler.remove(work, allocateJob, id)
}

/** Returns a cron expression with a minute derived from the id, so experiments are counted at different times. */
function cronOf(id: string, interval: AllocationRule["interval"]): string {
  const hash = createHash("sha256").update(id).digest()
  const minute = hash.readUInt8(0) % 60
  if (interval === "1h") return `${minute} * * * *`
  const first = hash.readUInt8(1) % 6
  return `${minute} ${interval === "6h" ? [0, 6, 12, 18].map((hour) => hour + first).join(",") : first} * * *`
}
