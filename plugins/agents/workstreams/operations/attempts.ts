// Operations for attempts at an assignment: start, end and list.
import { z } from "zod"
import { defineList, defineOperation, resultOf, Store } from "#core"
import { Organizations } from "../../../platform/organizations/index.ts"
import { AgentRuns } from "../../threads/index.ts"
import { requireBudget } from "../account.ts"
import { requireAssignee } from "../assignees.ts"
import { beginAttempt, endAttempt } from "../attempts.ts"
import { AttemptCollection } from "../collections.ts"
import { actorOf, Workstreams } from "../workstreams.ts"
import { added, byAssignment, moved, ofAssignment, thatOne } from "./assignment-place.ts"
import {
  AttemptResource,
  HandleResource,
  OneAssignment,
  ofThatWorkstream,
  oneAssignment,
  reading,
  ShortWords,
  Words,
  writing,
} from "./resource.ts"

const inWork = {
  ...added,
  started: { operation: "workstreams.transition", input: { ...ofThatWorkstream, event: "start" } },
  assigned: moved("assign", { assigned_agent_key: resultOf("agent.key") }),
  working: moved("begin"),
}

export const beginAttemptOperation = defineOperation({
  name: "workstreams.begin_attempt",
  summary: "Begin an attempt at an assignment; an agent that is responsible is asked, as a run.",
  description:
    "The run is charged to the workstream's budget, and refused where it is spent. What an agent answers is a proposed result. A person who is responsible ends the attempt with `workstreams.end_attempt`.",
  http: { method: "POST", path: `${ofAssignment}/attempts` },
  access: writing,
  hints: { readOnly: false, destructive: false, idempotent: false, openWorld: "by_job" },
  input: z.strictObject({ ...byAssignment, input: Words.default("").describe("For the agent, beside what the assignment says.") }),
  output: OneAssignment,
  errors: ["invalid_argument", "not_found", "failed_precondition", "resource_exhausted", "aborted"],
  examples: [{ given: inWork, input: thatOne }],
  inject: { store: Store, organizations: Organizations, runs: AgentRuns, workstreams: Workstreams },
  async handle({ input: { slug, assignment: ref, input }, caller, deps, work }) {
    const organization = caller.organization.id
    const workstream = await deps.workstreams.open(organization, slug)
    const assignment = await deps.workstreams.part(organization, workstream, "assignment", ref)
    const { assigned_agent_key, objective, acceptance_criteria } = assignment
    const agent = assigned_agent_key === "" ? undefined : await requireAssignee(deps, organization, assigned_agent_key)
    const criteria = acceptance_criteria === "" ? "" : `It is right when: ${acceptance_criteria}`
    const prompt = [objective, criteria, input].filter((text) => text !== "").join("\n\n")
    const by = { credential_id: caller.credential.id, user_id: caller.user?.id ?? null }
    const begunNow = { agent, input: prompt, actor: actorOf(caller), by }
    const attempted = beginAttempt(deps, work, organization, { workstream, assignment }, begunNow)
    if (agent) requireBudget(workstream, 1)
    return oneAssignment(attempted)
  },
  onConflict: async ({ error }) => error,
})

export const endAttemptOperation = defineOperation({
  name: "workstreams.end_attempt",
  summary: "Submit the result of an attempt, fail or cancel it, or withdraw what it submitted.",
  description:
    "A submitted result is proposed, not accepted. An attempt whose agent run is in progress can be canceled, and its run with it.",
  http: { method: "POST", path: `${ofAssignment}/attempts/end` },
  access: writing,
  hints: { readOnly: false, destructive: true, idempotent: false },
  input: z.strictObject({
    ...byAssignment,
    event: z.enum(["submit", "fail", "cancel", "withdraw"]),
    summary: Words.default("").describe("Of the result."),
    result_kind: ShortWords.default(""),
    handles: z.array(HandleResource.strict()).max(50).default([]).describe("What was made."),
    reason: Words.default("").describe("Why it ended so."),
  }),
  output: OneAssignment,
  errors: ["invalid_argument", "not_found", "failed_precondition", "aborted"],
  examples: [
    {
      given: { ...inWork, attempt: { operation: "workstreams.begin_attempt", input: thatOne } },
      input: { ...thatOne, event: "withdraw" },
    },
  ],
  inject: { store: Store, runs: AgentRuns, workstreams: Workstreams },
  async handle({ input: { slug, assignment: ref, ...ending }, caller, deps, work }) {
    const organization = caller.organization.id
    const workstream = await deps.workstreams.open(organization, slug)
    const assignment = await deps.workstreams.part(organization, workstream, "assignment", ref)
    const { latest_attempt } = assignment
    const runId = latest_attempt?.state === "running" ? latest_attempt.agent_run_id : null
    const run = runId === null ? undefined : await deps.runs.require(organization, runId)
    const isOpen = run !== undefined && run.ended_at === null
    const ended = endAttempt(deps, work, organization, { workstream, assignment }, ending, { actor: actorOf(caller), ownRun: !isOpen })
    if (isOpen) {
      // The end of the run is the end of this attempt, already staged.
      const why = ending.reason === "" ? "Its attempt was canceled." : ending.reason
      await deps.runs.move(
        work,
        organization,
        { ...run, subject: null },
        { event: "cancel", step: { kind: "canceled", detail: why }, reason: why },
      )
    }
    return oneAssignment(ended)
  },
  onConflict: async ({ error }) => error,
})

export const listAttempts = defineList({
  name: "workstreams.list_attempts",
  summary: "List the attempts at an assignment, newest first.",
  path: `${ofAssignment}/attempts`,
  access: reading,
  columns: ["attempt_number", "state", "summary", "terminal_reason", "ended_at"],
  input: byAssignment,
  examples: [{ given: added, input: thatOne }],
  inject: { workstreams: Workstreams },
  collection: AttemptCollection,
  async where({ slug, assignment }, { organization, deps }) {
    const workstream = await deps.workstreams.require(organization, slug)
    return { assignment_id: (await deps.workstreams.part(organization, workstream, "assignment", assignment)).id }
  },
  items: { attempts: AttemptResource },
  view: ({ id: _id, ...attempt }) => attempt,
})
