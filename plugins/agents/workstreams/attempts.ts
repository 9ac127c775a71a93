// Starts and ends attempts at an assignment. An attempt of an agent starts an agent run. Submitting proposes a result, and only a
// decision accepts it.
import { changesOf, nextState, type Store, type UnitOfWork } from "#core"
import type { AgentRuns, ResultHandle, RunSubject, StoredAgent, StoredAgentRun } from "../threads/index.ts"
import { accountOf } from "./account.ts"
import {
  AttemptCollection,
  type LatestAttempt,
  PartCollection,
  type StoredAssignment,
  type StoredWorkstream,
  WorkstreamCollection,
} from "./collections.ts"
import { adoptionMachine, type EventOf, submissionMachine } from "./transitions.ts"
import type { Actor, Workstreams } from "./workstreams.ts"

const attemptSubject = "workstream_attempt"

export interface AttemptDeps {
  readonly store: Store
  readonly runs: AgentRuns
  readonly workstreams: Workstreams
}

export interface Ending {
  readonly event: Exclude<EventOf<typeof submissionMachine>, "begin">
  readonly summary: string
  readonly result_kind: string
  readonly handles: readonly ResultHandle[]
  readonly reason: string
}

/** Returns the guard values of an assignment's state machines. */
export function guardsOf(
  workstream: StoredWorkstream,
  { work_state, adoption_state, assigned_agent_key, latest_attempt }: StoredAssignment,
) {
  return {
    work_in_progress: work_state === "in_progress" && workstream.status === "active",
    undecided: adoption_state === "proposed",
    rejected: adoption_state === "rejected",
    assigned: assigned_agent_key !== "",
    no_open_attempt: latest_attempt?.state !== "running",
    not_accepted: adoption_state !== "accepted",
  }
}

/** Stages the next attempt, with a run if an agent is set. */
export function beginAttempt(
  { runs, workstreams }: AttemptDeps,
  work: UnitOfWork,
  organization: string,
  { workstream, assignment }: { readonly workstream: StoredWorkstream; readonly assignment: StoredAssignment },
  {
    agent,
    input,
    actor,
    by,
  }: {
    readonly agent: StoredAgent | undefined
    readonly input: string
    readonly actor: Actor
    readonly by: NonNullable<StoredAgentRun["requested_by"]>
  },
): StoredAssignment {
  const before = assignment.latest_attempt
  const state = nextState(submissionMachine, before?.state ?? "none", "begin", { ...guardsOf(workstream, assignment), own_run: true })
  if (state === "none") throw new Error("No attempt begins as none.")
  const { id } = workstreams.newPart(workstream, "")
  const subject = { kind: attemptSubject, id: `${workstream.id}:${assignment.id}:${id}` }
  const runInput = { agent, threadId: workstream.primary_thread_id, input, subject, by }
  const run = agent && runs.start(work, organization, { ...runInput, agent })
  const attempt: LatestAttempt = {
    ...{ id, state, agent_run_id: run?.id ?? null, attempt_number: (before?.attempt_number ?? 0) + 1 },
    ...{ ended_at: null, handles: [], result_kind: "", summary: "", terminal_reason: "" },
  }
  const fields = {
    workstream_id: workstream.id,
    assignment_id: assignment.id,
    assignee: assignment.assigned_agent_key,
    created_at: workstreams.now(),
  }
  work.in(AttemptCollection, organization).insert({ ...attempt, ...fields })
  const body = `Attempt ${attempt.attempt_number} at "${assignment.slug}" began.`
  const news = { actor, event: "attempt_begun", body, data: { assignment: assignment.slug } }
  return workstreams.change(work, organization, workstream, assignment, { latest_attempt: attempt }, news)
}

/** Stages the end of the latest attempt. `ownRun`: its run has ended, or does not exist. */
export function endAttempt(
  { workstreams }: Pick<AttemptDeps, "workstreams">,
  work: UnitOfWork,
  organization: string,
  { workstream, assignment }: { readonly workstream: StoredWorkstream; readonly assignment: StoredAssignment },
  { event, summary, result_kind, handles, reason }: Ending,
  { actor, ownRun }: { readonly actor: Actor; readonly ownRun: boolean },
): StoredAssignment {
  const before = assignment.latest_attempt
  const state = nextState(submissionMachine, before?.state ?? "none", event, { ...guardsOf(workstream, assignment), own_run: ownRun })
  if (!before || state === "none") throw new Error("An attempt that never began cannot end.")
  const adopts = event === "submit" ? "propose" : event === "withdraw" ? "withdraw" : undefined
  // A new attempt may propose a result after a rejected proposal, or the first result.
  const adoption_state = adopts
    ? nextState(adoptionMachine, assignment.adoption_state, adopts, { by_decider: false })
    : assignment.adoption_state
  const result = event === "submit" ? { summary, result_kind, handles: handles.map((handle) => ({ ...handle })) } : {}
  const ended = { state, ended_at: workstreams.now(), terminal_reason: reason, ...result }
  work.in(AttemptCollection, organization).update(before.id, { $set: changesOf(ended) })
  const status = event === "submit" ? "proposes a result" : `is ${state}`
  const body = `Attempt ${before.attempt_number} at "${assignment.slug}" ${status}.${reason === "" ? "" : ` ${reason}`}`
  const news = { actor, event: `attempt_${state}`, body, data: { assignment: assignment.slug, adoption_state } }
  return workstreams.change(work, organization, workstream, assignment, { latest_attempt: { ...before, ...ended }, adoption_state }, news)
}

/** Serves the runs of attempts: charges them to the workstream, and ends the attempt with the run. */
export function attemptRuns(deps: AttemptDeps): RunSubject {
  const { store } = deps
  return {
    kind: attemptSubject,
    account: (organization, id) => accountOf(store, organization, id.split(":")[0] ?? ""),
    async ended(work, organization, run) {
      const [workstreamId = "", assignmentId = "", attemptId] = run.subject?.id.split(":") ?? []
      const workstream = await store.open(WorkstreamCollection, organization).get(workstreamId)
      const assignment = await store.open(PartCollection, organization).get(assignmentId)
      const isLatest = assignment?.kind === "assignment" && assignment.latest_attempt?.id === attemptId
      if (!workstream || !isLatest || assignment.latest_attempt?.state !== "running") return
      const { summary, result_kind, handles, terminal_reason: reason } = run
      const event = run.state === "succeeded" ? "submit" : run.state === "canceled" ? "cancel" : "fail"
      const ending = { event, summary, result_kind: result_kind || assignment.expected_result_kind, handles, reason } as const
      const actor = { actor_id: run.id, actor_type: "agent" } as const
      endAttempt(deps, work, organization, { workstream, assignment }, ending, { actor, ownRun: true })
    },
  }
}
