// Output schemas of workstreams and their parts. Clients depend on the exact names.
import { z } from "zod"
import { Name, resultOf, Slug, SlugOrId, Timestamp, Uuid } from "#core"
import {
  actorTypes,
  autonomyModes,
  type StoredAssignment,
  type StoredDecision,
  type StoredEvent,
  type StoredPhase,
  type StoredResource,
  type StoredWorkstream,
} from "../collections.ts"
import {
  adoptionMachine,
  decisionExecutionMachine,
  decisionMachine,
  executionMachine,
  namesOf,
  outcomeMachine,
  phaseMachine,
  responsibilityMachine,
  submissionMachine,
  workstreamMachine,
} from "../transitions.ts"

const Time = Timestamp.nullable()

export const ExternalRefResource = z.object({
  account_id: z.string(),
  external_id: z.string(),
  kind: z.string(),
  label: z.string(),
  provider: z.string(),
})

export const WorkstreamResource = z
  .object({
    autonomy_mode: z.enum(autonomyModes),
    completed_at: Time,
    created_at: Timestamp,
    description: z.string(),
    escalation_budget_per_day: z.int(),
    external_refs: z.array(ExternalRefResource),
    id: Uuid,
    organization_id: Uuid,
    primary_thread_id: Uuid,
    project_id: Uuid.nullable(),
    revision: z.int(),
    slug: z.string(),
    source_template_id: Uuid.nullable(),
    spent_millicents: z.int().describe("1/100,000 of a dollar."),
    started_at: Time,
    status: z.enum(namesOf(workstreamMachine.states)),
    title: z.string(),
    token_budget_millicents: z.int(),
    updated_at: Timestamp,
  })
  .meta({ id: "Workstream" })

export function shownWorkstream({ escalations: _escalations, followers: _followers, organization_id = "", ...resource }: StoredWorkstream) {
  return { ...resource, organization_id }
}

export const HandleResource = z.object({ resource_id: z.string(), resource_type: z.string(), revision_ref: z.string() })

export const AttemptResource = z.object({
  agent_run_id: Uuid.nullable(),
  attempt_number: z.int(),
  ended_at: Time,
  handles: z.array(HandleResource),
  result_kind: z.string(),
  state: z.enum(namesOf(submissionMachine.states)).exclude(["none"]),
  summary: z.string(),
  terminal_reason: z.string(),
})

export const AssignmentResource = z
  .object({
    acceptance_criteria: z.string(),
    adoption_state: z.enum(namesOf(adoptionMachine.states)).describe("Whether a result is accepted; no other field says so."),
    assigned_agent_key: z.string().describe("Key of an agent, or `human:<user_id>`; empty: nobody is responsible."),
    created_at: Timestamp,
    expected_result_kind: z.string(),
    id: Uuid,
    latest_attempt: AttemptResource.nullable(),
    objective: z.string(),
    reason: z.string(),
    slug: z.string(),
    work_state: z.enum(namesOf(executionMachine.states)),
    work_state_reason: z.string(),
  })
  .meta({ id: "Assignment" })

export function shownAssignment(assignment: StoredAssignment): z.input<typeof AssignmentResource> {
  const { acceptance_criteria, adoption_state, assigned_agent_key, created_at, expected_result_kind, id } = assignment
  const { latest_attempt, objective, reason, slug, work_state, work_state_reason } = assignment
  const { id: _id, ...attempt } = latest_attempt ?? { id: "" }
  return {
    ...{ acceptance_criteria, adoption_state, assigned_agent_key, created_at, expected_result_kind, id },
    ...{ objective, reason, slug, work_state, work_state_reason },
    latest_attempt: latest_attempt && (attempt as z.input<typeof AttemptResource>),
  }
}

/** Adds fields missing in the whole workstream. */
export const OneAssignment = AssignmentResource.extend({
  phase_id: Uuid.nullable(),
  responsibility: z.enum(namesOf(responsibilityMachine.states)),
  revision: z.int(),
}).meta({ id: "AssignmentDetail" })

export function oneAssignment(assignment: StoredAssignment): z.input<typeof OneAssignment> {
  const { phase_id, responsibility, revision } = assignment
  return { ...shownAssignment(assignment), phase_id, responsibility, revision }
}

export const DecisionResource = z
  .object({
    applicability: z.string(),
    approval_id: Uuid.nullable(),
    authorized_at: Time,
    decided_by_user_id: Uuid.nullable(),
    decider_kind: z.enum(["", "person", "agent"]),
    decider_rationale: z.string(),
    decision_class: z.string(),
    evidence_kind: z.string(),
    execution_status: z.enum(namesOf(decisionExecutionMachine.states)),
    outcome_label: z.string(),
    outcome_status: z.enum(namesOf(outcomeMachine.states)),
    proposed_at: Timestamp,
    rejected_at: Time,
    slug: z.string(),
    source: z.string(),
    status: z.enum(namesOf(decisionMachine.states)),
    subject_kind: z.string(),
    subject_label: z.string(),
    superseded_by_decision_slug: z.string(),
    supersedes_decision_slug: z.string(),
    what: z.string(),
    why: z.string(),
  })
  .meta({ id: "Decision" })

export function shownDecision(decision: StoredDecision): z.input<typeof DecisionResource> {
  const { organization_id: _o, workstream_id: _w, kind: _k, id: _i, revision: _r, created_at: _c, updated_at: _u, ...resource } = decision
  return resource
}

export const EventResource = z
  .object({
    actor_id: Uuid.nullable().describe("A user, a credential or the run of an agent."),
    actor_type: z.enum(actorTypes).describe("`agent`: the run of an agent, or a credential that an agent uses over MCP or as its own."),
    body: z.string(),
    created_at: Timestamp,
    id: Uuid,
    organization_id: Uuid,
    workstream_id: Uuid,
  })
  .meta({ id: "WorkstreamEvent" })

export function shownEvent(event: StoredEvent, organization: string): z.input<typeof EventResource> {
  return { ...event, organization_id: organization }
}

export const PhaseResource = z
  .object({
    completed_at: Time,
    created_at: Timestamp,
    id: Uuid,
    skill_slug: z.string(),
    slug: z.string(),
    sort_order: z.int(),
    started_at: Time,
    status: z.enum(namesOf(phaseMachine.states)),
    thread_id: Uuid.nullable(),
    title: z.string(),
    updated_at: Timestamp,
    workstream_id: Uuid,
  })
  .meta({ id: "Phase" })

export function shownPhase({ organization_id: _o, kind: _k, revision: _r, ...resource }: StoredPhase): z.input<typeof PhaseResource> {
  return resource
}

export const ResourceResource = z
  .object({
    created_at: Timestamp,
    id: Uuid,
    phase_id: Uuid.nullable(),
    relationship_type: z.string(),
    resource_id: Uuid,
    resource_type: z.string(),
    title: z.string(),
    workstream_id: Uuid,
  })
  .meta({ id: "WorkstreamResource" })

export function shownResource(resource: StoredResource): z.input<typeof ResourceResource> {
  const { created_at, id, phase_id, relationship_type, resource_id, resource_type, title, workstream_id } = resource
  return { created_at, id, phase_id, relationship_type, resource_id, resource_type, title, workstream_id }
}

export const path = "/v1/workstreams"
export const reading = { scope: "workstreams:read", role: "member" } as const
export const writing = { scope: "workstreams:write", role: "member" } as const
export const bySlug = { slug: SlugOrId.describe("Slug or UUID of the workstream.") }
export const PartSlug = Slug.describe("Unique among those of its kind in the workstream.")
export const PartRef = SlugOrId.describe("Slug or UUID within the workstream.")
export const Words = z.string().trim().max(4_000)
export const ShortWords = z.string().trim().max(200)
export const ExpectedRevision = z.int().optional().describe("Revision that the change was made for; refused when there is a newer one.")

/** Setup calls for examples. */
export const madeWorkstream = { workstream: "workstreams.create" }
export const ofThatWorkstream = { slug: resultOf("workstream.workstream.slug") }

export const workstreamFields = {
  title: Name,
  description: Words,
  autonomy_mode: z
    .enum(autonomyModes)
    .describe("`supervised`: persons adopt results and authorize decisions; `autonomous`: any caller does."),
  escalation_budget_per_day: z.int().min(0).max(1_000).describe("How often it may be escalated in a day (UTC)."),
  token_budget_millicents: z
    .int()
    .min(0)
    .max(1e12)
    .describe("Budget of its model calls, in 1/100,000 of a dollar; 0: no call may cost anything."),
  project_id: Uuid.nullable().describe("Of a project kept elsewhere."),
}
