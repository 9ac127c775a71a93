// Operations for assignments of a workstream: add, list, read, change, and move. Responsibility, work, attempts and adoption are
// separate facts. Each event belongs to one of them.
import { z } from "zod"
import { type Caller, defineList, defineOperation, nextState, requireRevision, resultOf, Store } from "#core"
import { Organizations } from "../../../platform/organizations/index.ts"
import { requireAssignee } from "../assignees.ts"
import { guardsOf } from "../attempts.ts"
import { PartCollection, type StoredAssignment, type StoredWorkstream } from "../collections.ts"
import { newAssignment } from "../create.ts"
import { adoptionMachine, executionMachine, namesOf, responsibilityMachine } from "../transitions.ts"
import { actorOf, mayDecide, Workstreams } from "../workstreams.ts"
import { added, byAssignment, ofAssignment, thatOne } from "./assignment-place.ts"
import { refsBeside } from "./refs-beside.ts"
import {
  bySlug,
  ExpectedRevision,
  madeWorkstream,
  OneAssignment,
  ofThatWorkstream,
  oneAssignment,
  PartRef,
  PartSlug,
  path,
  reading,
  ShortWords,
  Words,
  writing,
} from "./resource.ts"

const Key = z.string().trim().min(1).max(100).describe("Key of an agent, or `human:<user_id>`.")
const texts = { objective: Words.min(1), acceptance_criteria: Words, expected_result_kind: ShortWords }

export const addAssignment = defineOperation({
  name: "workstreams.add_assignment",
  summary: "Add an assignment to a workstream.",
  http: { method: "POST", path: `${path}/{slug}/assignments` },
  access: writing,
  hints: { readOnly: false, destructive: false, idempotent: false },
  input: z.strictObject({
    ...bySlug,
    assignment: PartSlug,
    objective: texts.objective,
    acceptance_criteria: texts.acceptance_criteria.default(""),
    expected_result_kind: texts.expected_result_kind.default(""),
    phase: PartRef.optional(),
    reason: ShortWords.default("").describe("Why there is this assignment."),
  }),
  output: OneAssignment,
  errors: ["invalid_argument", "not_found", "already_exists", "failed_precondition", "aborted"],
  examples: [{ given: madeWorkstream, input: { ...ofThatWorkstream, assignment: "copy", objective: "Write the copy." } }],
  inject: { workstreams: Workstreams },
  async handle({ input: { slug, assignment, phase, ...fields }, caller, deps, work }) {
    const organization = caller.organization.id
    const workstream = await deps.workstreams.open(organization, slug)
    const phase_id = phase === undefined ? null : (await deps.workstreams.part(organization, workstream, "phase", phase)).id
    await deps.workstreams.requireRoom(organization, workstream, "assignment", assignment)
    const created = newAssignment(deps.workstreams, workstream, { slug: assignment, assigned_agent_key: "", phase_id, ...fields })
    const news = { actor: actorOf(caller), event: "assignment_added", body: `Assignment "${assignment}" added.`, data: { assignment } }
    deps.workstreams.add(work, organization, workstream, created, news)
    return oneAssignment(created)
  },
  onConflict: async ({ error }) => error,
})

export const listAssignments = defineList({
  name: "workstreams.list_assignments",
  summary: "List the assignments of a workstream, newest first.",
  path: `${path}/{slug}/assignments`,
  access: reading,
  columns: ["slug", "assigned_agent_key", "work_state", "adoption_state", "objective"],
  input: {
    ...bySlug,
    work_state: z.enum(namesOf(executionMachine.states)).optional(),
    adoption_state: z.enum(namesOf(adoptionMachine.states)).optional(),
  },
  examples: [{ given: madeWorkstream, input: ofThatWorkstream }],
  inject: { workstreams: Workstreams },
  collection: PartCollection,
  where: async ({ slug, ...filter }, { organization, deps }) => ({
    workstream_id: (await deps.workstreams.require(organization, slug)).id,
    kind: "assignment",
    ...filter,
  }),
  items: { assignments: OneAssignment },
  view: (part) => oneAssignment(part as StoredAssignment),
  beside: refsBeside,
})

export const getAssignment = defineOperation({
  name: "workstreams.get_assignment",
  summary: "Read an assignment.",
  http: { method: "GET", path: ofAssignment },
  access: reading,
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject(byAssignment),
  output: OneAssignment,
  errors: ["not_found"],
  examples: [{ given: added, input: thatOne }],
  inject: { workstreams: Workstreams },
  async handle({ input, caller, deps }) {
    const organization = caller.organization.id
    const workstream = await deps.workstreams.require(organization, input.slug)
    return oneAssignment(await deps.workstreams.part(organization, workstream, "assignment", input.assignment))
  },
})

export const updateAssignment = defineOperation({
  name: "workstreams.update_assignment",
  summary: "Change what an assignment asks for: only the fields that are given.",
  http: { method: "PATCH", path: ofAssignment },
  access: writing,
  hints: { readOnly: false, destructive: true, idempotent: true },
  input: z.strictObject({
    ...byAssignment,
    objective: texts.objective.optional(),
    acceptance_criteria: texts.acceptance_criteria.optional(),
    expected_result_kind: texts.expected_result_kind.optional(),
    expected_revision: ExpectedRevision,
  }),
  output: OneAssignment,
  errors: ["invalid_argument", "not_found", "failed_precondition", "aborted"],
  examples: [{ given: added, input: { ...thatOne, acceptance_criteria: "Fits on one screen.", expected_revision: 1 } }],
  inject: { workstreams: Workstreams },
  async handle({ input: { slug, assignment: ref, expected_revision, ...fields }, caller, deps, work }) {
    const organization = caller.organization.id
    const workstream = await deps.workstreams.open(organization, slug)
    const assignment = await deps.workstreams.part(organization, workstream, "assignment", ref)
    requireRevision("assignment", assignment.revision, expected_revision)
    const change = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
    if (Object.keys(change).length === 0) return oneAssignment(assignment)
    const body = `Assignment "${assignment.slug}" changed: ${Object.keys(change).join(", ")}.`
    const news = { actor: actorOf(caller), event: "assignment_changed", body, data: { assignment: assignment.slug } }
    return oneAssignment(deps.workstreams.change(work, organization, workstream, assignment, change, news))
  },
  onConflict: async ({ error }) => error,
})

const responsibilityEvents = namesOf(responsibilityMachine.events)
const executionEvents = namesOf(executionMachine.events)
const adoptionEvents = ["accept", "reject", "revoke"] as const

export const moveAssignment = defineOperation({
  name: "workstreams.move_assignment",
  summary: "Assign, begin, block, finish or cancel an assignment, or decide about its proposed result.",
  description:
    "`assign` and `release` change responsibility; `begin`, `block`, `unblock`, `finish`, `cancel` and `reopen` the work; `accept`, `reject` and `revoke` decide about the result. None of them changes another fact.",
  http: { method: "POST", path: `${ofAssignment}/transitions` },
  access: writing,
  hints: { readOnly: false, destructive: true, idempotent: false },
  input: z.strictObject({
    ...byAssignment,
    event: z.enum([...responsibilityEvents, ...executionEvents, ...adoptionEvents]),
    assigned_agent_key: Key.optional().describe("Of `assign`: key of an agent, or `human:<user_id>`."),
    reason: Words.default(""),
    expected_revision: ExpectedRevision,
  }),
  output: OneAssignment,
  errors: ["invalid_argument", "not_found", "failed_precondition", "aborted"],
  examples: [{ given: added, input: { ...thatOne, event: "assign", assigned_agent_key: resultOf("agent.key"), expected_revision: 1 } }],
  inject: { store: Store, organizations: Organizations, workstreams: Workstreams },
  async handle({ input, caller, deps, work }) {
    const { slug, assignment: ref, event, assigned_agent_key, reason, expected_revision } = input
    const organization = caller.organization.id
    const workstream = await deps.workstreams.open(organization, slug)
    const assignment = await deps.workstreams.part(organization, workstream, "assignment", ref)
    requireRevision("assignment", assignment.revision, expected_revision)
    const change = changeOf(workstream, assignment, { event, reason, assignee: assigned_agent_key }, caller)
    if (event === "assign") await requireAssignee(deps, organization, assigned_agent_key ?? "")
    const [field = "", value = ""] = Object.entries(change)[0] ?? []
    const body = `"${assignment.slug}": ${event}, ${field} is ${String(value)}.${reason === "" ? "" : ` ${reason}`}`
    const news = { actor: actorOf(caller), event: "assignment_moved", body, data: { assignment: assignment.slug, [field]: String(value) } }
    return oneAssignment(deps.workstreams.change(work, organization, workstream, assignment, change, news))
  },
  onConflict: async ({ error }) => error,
})

interface AssignmentMove {
  readonly event: string
  readonly reason: string
  readonly assignee: string | undefined
}

/** Returns the changed fields of the fact that the event is about. */
function changeOf(
  workstream: StoredWorkstream,
  assignment: StoredAssignment,
  { event, reason, assignee = "" }: AssignmentMove,
  caller: Caller,
): Partial<StoredAssignment> {
  const guards = guardsOf(workstream, assignment)
  if (isOf(responsibilityEvents, event)) {
    const responsibility = nextState(responsibilityMachine, assignment.responsibility, event, guards)
    return { responsibility, assigned_agent_key: responsibility === "assigned" ? assignee : "", reason }
  }
  if (isOf(executionEvents, event)) {
    return { work_state: nextState(executionMachine, assignment.work_state, event, guards), work_state_reason: reason }
  }
  const by_decider = mayDecide(caller, workstream)
  return {
    adoption_state: nextState(adoptionMachine, assignment.adoption_state, event as (typeof adoptionEvents)[number], { by_decider }),
    reason,
  }
}

function isOf<E extends string>(events: readonly E[], event: string): event is E {
  return (events as readonly string[]).includes(event)
}
