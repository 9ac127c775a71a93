// Stored data of workstreams. Phases, assignments, decisions and resources share a collection, so a single query reads a whole
// workstream from a snapshot.
import { type Document, defineCollection } from "#core"
import type { ResultHandle } from "../threads/index.ts"
import type {
  adoptionMachine,
  decisionExecutionMachine,
  decisionMachine,
  executionMachine,
  outcomeMachine,
  phaseMachine,
  responsibilityMachine,
  StateOf,
  submissionMachine,
  workstreamMachine,
} from "./transitions.ts"

export const autonomyModes = ["supervised", "autonomous"] as const

/** A provider's object under the governance of the workstream. */
export interface ExternalRef {
  account_id: string
  external_id: string
  kind: string
  label: string
  provider: string
}

export interface StoredWorkstream extends Document {
  slug: string
  title: string
  description: string
  status: StateOf<typeof workstreamMachine>
  autonomy_mode: (typeof autonomyModes)[number]
  escalation_budget_per_day: number
  token_budget_millicents: number
  spent_millicents: number
  external_refs: ExternalRef[]
  primary_thread_id: string
  project_id: string | null
  source_template_id: string | null
  /** Escalations of the last day with any (UTC). */
  escalations: { day: string; count: number }
  /** Users, and credentials without a user. */
  followers: string[]
  /** Revision of the workstream's own fields. Its parts have their own. */
  revision: number
  started_at: string | null
  completed_at: string | null
  created_at: string
  /** Includes changes of its parts. */
  updated_at: string
}

export const WorkstreamCollection = defineCollection<StoredWorkstream>()({
  name: "workstreams",
  scope: "organization",
  times: ["started_at", "completed_at", "created_at", "updated_at"],
  indexes: [{ fields: ["slug"], unique: true }, { fields: ["-id"] }, { fields: ["status", "-id"] }],
})

interface Part extends Document {
  workstream_id: string
  /** Unique per kind within the workstream. */
  slug: string
  revision: number
  created_at: string
  updated_at: string
}

export interface StoredPhase extends Part {
  kind: "phase"
  title: string
  status: StateOf<typeof phaseMachine>
  skill_slug: string
  thread_id: string | null
  sort_order: number
  started_at: string | null
  completed_at: string | null
}

export interface LatestAttempt {
  id: string
  agent_run_id: string | null
  attempt_number: number
  ended_at: string | null
  handles: ResultHandle[]
  result_kind: string
  state: Exclude<StateOf<typeof submissionMachine>, "none">
  summary: string
  terminal_reason: string
}

export interface StoredAssignment extends Part {
  kind: "assignment"
  phase_id: string | null
  objective: string
  acceptance_criteria: string
  expected_result_kind: string
  assigned_agent_key: string
  responsibility: StateOf<typeof responsibilityMachine>
  work_state: StateOf<typeof executionMachine>
  work_state_reason: string
  adoption_state: StateOf<typeof adoptionMachine>
  /** Reason of the current responsibility or adoption. */
  reason: string
  latest_attempt: LatestAttempt | null
}

export interface StoredDecision extends Part {
  kind: "decision"
  applicability: string
  approval_id: string | null
  authorized_at: string | null
  decided_by_user_id: string | null
  decider_kind: "" | "person" | "agent"
  decider_rationale: string
  decision_class: string
  evidence_kind: string
  execution_status: StateOf<typeof decisionExecutionMachine>
  outcome_label: string
  outcome_status: StateOf<typeof outcomeMachine>
  proposed_at: string
  rejected_at: string | null
  source: string
  status: StateOf<typeof decisionMachine>
  subject_kind: string
  subject_label: string
  superseded_by_decision_slug: string
  supersedes_decision_slug: string
  what: string
  why: string
}

export interface StoredResource extends Part {
  kind: "resource"
  phase_id: string | null
  relationship_type: string
  resource_id: string
  resource_type: string
  title: string
}

export type StoredPart = StoredPhase | StoredAssignment | StoredDecision | StoredResource
export type PartKind = StoredPart["kind"]
export type PartOf<K extends PartKind> = Extract<StoredPart, { kind: K }>

export const PartCollection = defineCollection<StoredPart>()({
  name: "workstream_parts",
  scope: "organization",
  times: [
    "started_at",
    "completed_at",
    "created_at",
    "updated_at",
    "authorized_at",
    "proposed_at",
    "rejected_at",
    "latest_attempt.ended_at",
  ],
  indexes: [{ fields: ["workstream_id", "kind", "slug"], unique: true }, { fields: ["workstream_id", "kind", "-id"] }],
})

/** An attempt in the history. */
export interface StoredAttempt extends Document, Omit<LatestAttempt, "id"> {
  workstream_id: string
  assignment_id: string
  assignee: string
  created_at: string
}

export const AttemptCollection = defineCollection<StoredAttempt>()({
  name: "workstream_attempts",
  scope: "organization",
  times: ["created_at", "ended_at"],
  indexes: [{ fields: ["assignment_id", "-id"] }],
})

export const actorTypes = ["user", "credential", "agent", "service"] as const

/** Immutable. */
export interface StoredEvent extends Document {
  workstream_id: string
  actor_id: string | null
  actor_type: (typeof actorTypes)[number]
  body: string
  created_at: string
}

export const EventCollection = defineCollection<StoredEvent>()({
  name: "workstream_events",
  scope: "organization",
  times: ["created_at"],
  indexes: [{ fields: ["workstream_id", "-id"] }],
  audit: "size",
  auditFields: ["workstream_id"],
  repairsText: true,
})
