// Collections of replay plans: each plan with its progress, and the outcome of each event.
import { z } from "zod"
import { type Document, defineCollection, jobRef } from "#core"

export const planStates = ["rehearsing", "rehearsed", "replaying", "paused", "completed", "stopped"] as const
export type PlanState = (typeof planStates)[number]
export const outcomes = ["same", "differs", "accepted_now", "fails", "skipped"] as const
export type Outcome = (typeof outcomes)[number]

/** Events with the same predicted outcome and detail. */
export interface Group {
  outcome: Outcome
  /** The fields that differ, the failing step, or the reason for skipping. May be "". */
  detail: string
  count: number
  /** IDs of the first executions. */
  samples: string[]
}

export interface ReplayPlan extends Document {
  pipeline_id: string
  pipeline_slug: string
  filter: { status?: "accepted" | "rejected" | "failed"; cause?: string; is_test?: boolean; since?: string; until: string }
  state: PlanState
  /** State after a resume. */
  resumes: "rehearsing" | "replaying" | null
  count: number
  rehearsed: number
  replayed: { accepted: number; rejected: number; failed: number; skipped: number }
  groups: Group[]
  /** Receipt time and ID of the last event processed in the current run. */
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

/** One event of a plan. `id` is derived from the plan and the event. */
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
