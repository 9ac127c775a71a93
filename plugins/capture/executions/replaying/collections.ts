// What is kept of replay plans: the plan with how far it is, and what became of each of its events.
import { z } from "zod"
import { type Document, defineCollection, jobRef } from "#core"

export const planStates = ["rehearsing", "rehearsed", "replaying", "paused", "completed", "stopped"] as const
export type PlanState = (typeof planStates)[number]
export const outcomes = ["same", "differs", "accepted_now", "fails", "skipped"] as const
export type Outcome = (typeof outcomes)[number]

/** Events of which a rehearsal says the same. */
export interface Group {
  outcome: Outcome
  /** Fields that differ, the step that fails, or why it is left out; "" where nothing is to be said. */
  detail: string
  count: number
  /** Ids of the first executions. */
  samples: string[]
}

export interface ReplayPlan extends Document {
  pipeline_id: string
  pipeline_slug: string
  filter: { status?: "accepted" | "rejected" | "failed"; cause?: string; is_test?: boolean; since?: string; until: string }
  state: PlanState
  /** What goes on once it is resumed. */
  resumes: "rehearsing" | "replaying" | null
  count: number
  rehearsed: number
  replayed: { accepted: number; rejected: number; failed: number; skipped: number }
  groups: Group[]
  /** Receipt and id of the last event that the present run has done. */
  position: string[]
  created_at: string
  updated_at: string
  expires_at: string
  revision: number
}

export const ReplayPlanCollection = defineCollection<ReplayPlan>()({
  name: "replay_plans",
  scope: "organization",
  times: ["created_at", "updated_at", "expires_at"],
  indexes: [],
  expires: "expires_at",
})

/** One event of a plan; `id` follows from both. */
export interface PlannedEvent extends Document {
  plan_id: string
  execution_id: string
  outcome: Outcome
  detail: string
  replay_id: string | null
  replay_status: string | null
  expires_at: string
}

export const PlannedEventCollection = defineCollection<PlannedEvent>()({
  name: "replay_plan_events",
  scope: "organization",
  times: ["expires_at"],
  indexes: [{ fields: ["plan_id", "execution_id"] }, { fields: ["plan_id", "outcome", "execution_id"] }],
  expires: "expires_at",
  audit: "none",
})

export const replayRef = jobRef("events.replay_plan", z.object({ plan: z.string() }), {
  timeoutMs: 3_600_000,
})
