// Creates a workstream with its thread, and the phases and assignments of its template.
import type { UnitOfWork } from "#core"
import type { Threads } from "../threads/index.ts"
import { PartCollection, type StoredAssignment, type StoredPhase, type StoredWorkstream, WorkstreamCollection } from "./collections.ts"
import type { WholeWorkstream } from "./read-model.ts"
import type { StoredTemplate } from "./templates.ts"
import { adoptionMachine, executionMachine, phaseMachine, responsibilityMachine, workstreamMachine } from "./transitions.ts"
import type { Actor, Workstreams } from "./workstreams.ts"

export type NewWorkstream = Pick<
  StoredWorkstream,
  "id" | "slug" | "title" | "description" | "autonomy_mode" | "escalation_budget_per_day" | "token_budget_millicents" | "project_id"
>

export interface CreateDeps {
  readonly workstreams: Workstreams
  readonly threads: Threads
}

/** Stages the workstream with all its parts. */
export function createWorkstream(
  { workstreams, threads }: CreateDeps,
  work: UnitOfWork,
  organization: string,
  input: NewWorkstream,
  { template, actor, userId }: { readonly template: StoredTemplate | undefined; readonly actor: Actor; readonly userId: string | null },
): WholeWorkstream {
  const at = workstreams.now()
  const workstream: StoredWorkstream = {
    ...input,
    status: workstreamMachine.initial,
    spent_millicents: 0,
    external_refs: [],
    primary_thread_id: threads.create(work, organization, { title: input.title, userId }).id,
    source_template_id: template?.id ?? null,
    escalations: { day: "", count: 0 },
    followers: [],
    revision: 1,
    started_at: null,
    completed_at: null,
    created_at: at,
    updated_at: at,
  }
  work.in(WorkstreamCollection, organization).insert(workstream)
  const phases = (template?.phases ?? []).map((phase, index) => newPhase(workstreams, workstream, { ...phase, sort_order: index }))
  const assignments = (template?.assignments ?? []).map((assignment) => {
    const phase = phases.find(({ slug }) => slug === assignment.phase_slug)
    return newAssignment(workstreams, workstream, { ...assignment, phase_id: phase?.id ?? null, reason: "" })
  })
  const parts = [...phases, ...assignments]
  for (const part of parts) work.in(PartCollection, organization).insert(part)
  const from = template === undefined ? "" : ` from the template "${template.slug}"`
  const event = workstreams.tell(work, organization, workstream, { actor, event: "created", body: `Created${from}.` })
  return { workstream, parts, events: [event] }
}

export function newPhase(
  workstreams: Workstreams,
  workstream: StoredWorkstream,
  { slug, ...fields }: Pick<StoredPhase, "slug" | "title" | "skill_slug" | "sort_order"> & Partial<Pick<StoredPhase, "thread_id">>,
): StoredPhase {
  const part = workstreams.newPart(workstream, slug)
  return { thread_id: null, ...fields, ...part, kind: "phase", status: phaseMachine.initial, started_at: null, completed_at: null }
}

type GivenAssignment = Omit<StoredTemplate["assignments"][number], "phase_slug"> & Pick<StoredAssignment, "phase_id" | "reason">

export function newAssignment(workstreams: Workstreams, workstream: StoredWorkstream, fields: GivenAssignment): StoredAssignment {
  const { slug, objective, acceptance_criteria, expected_result_kind, assigned_agent_key, phase_id, reason } = fields
  return {
    ...workstreams.newPart(workstream, slug),
    ...{ kind: "assignment", objective, acceptance_criteria, expected_result_kind, assigned_agent_key, phase_id, reason },
    responsibility: assigned_agent_key === "" ? responsibilityMachine.initial : "assigned",
    work_state: executionMachine.initial,
    work_state_reason: "",
    adoption_state: adoptionMachine.initial,
    latest_attempt: null,
  }
}
