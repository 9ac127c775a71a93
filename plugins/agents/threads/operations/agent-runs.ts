// Operations for runs of agents: start, list, read, cancel and resume.
import { z } from "zod"
import { defineList, defineOperation, resultOf, Store, Uuid } from "#core"
import { Agents } from "../agents/agents.ts"
import { AgentRunCollection, RunStepCollection } from "../collections.ts"
import { AgentRuns } from "../runs/agent-runs.ts"
import { maxContent, Threads } from "../threads.ts"
import { AgentRunResource, madeThread, RunStepResource, runStates, shownRun, shownStep } from "./resource.ts"

const path = "/v1/agent-runs"
const reading = { scope: "agent_runs:read", role: "member" } as const
const writing = { scope: "agent_runs:write", role: "member" } as const
const example = {
  given: {
    agent: "agents.create",
    run: { operation: "agent_runs.start", input: { agent_key: resultOf("agent.key"), input: "Write a headline." } },
  },
  input: { id: resultOf("run.id") },
}

export const startRun = defineOperation({
  name: "agent_runs.start",
  summary: "Ask an agent something, as a run that can be followed, canceled and resumed.",
  description:
    "The input becomes a message of the thread, which the agent is shown with what came before it. The answer is durable work: read the run, or its steps, to see how far it is.",
  http: { method: "POST", path },
  access: writing,
  hints: { readOnly: false, destructive: false, idempotent: false, openWorld: "by_job" },
  input: z.strictObject({
    agent_key: z.string().min(1).max(100).toLowerCase().describe("Key or UUID of the agent."),
    input: z.string().min(1).max(maxContent).describe("What it is asked."),
    thread_id: Uuid.optional().describe("Absent: a thread is made."),
  }),
  output: AgentRunResource,
  errors: ["invalid_argument", "not_found"],
  auditSize: ["input"],
  examples: [{ given: { agent: "agents.create", ...madeThread }, input: { agent_key: resultOf("agent.key"), input: "Write a headline." } }],
  inject: { store: Store, threads: Threads, runs: AgentRuns },
  async handle({ input: { agent_key, input, thread_id }, caller, deps, work }) {
    const organization = caller.organization.id
    const agent = await Agents.items.require(deps.store, organization, agent_key)
    if (thread_id !== undefined) await deps.threads.require(organization, thread_id)
    const by = { credential_id: caller.credential.id, user_id: caller.user?.id ?? null }
    return shownRun(deps.runs.start(work, organization, { agent, threadId: thread_id, input, by }))
  },
})

export const listAgentRuns = defineList({
  name: "agent_runs.list",
  summary: "List runs of agents, newest first.",
  path,
  access: reading,
  columns: ["agent_key", "state", "summary", "cost_millicents", "created_at", "id"],
  input: {
    state: z.enum(runStates).optional(),
    agent_key: z.string().max(100).optional().describe("Key of the agent."),
    thread_id: Uuid.optional(),
  },
  collection: AgentRunCollection,
  items: { agent_runs: AgentRunResource },
  view: shownRun,
})

export const getAgentRun = defineOperation({
  name: "agent_runs.get",
  summary: "Read a run of an agent.",
  http: { method: "GET", path: `${path}/{id}` },
  access: reading,
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject({ id: Uuid }),
  output: AgentRunResource,
  errors: ["not_found"],
  examples: [example],
  inject: { runs: AgentRuns },
  handle: async ({ input, caller, deps }) => shownRun(await deps.runs.require(caller.organization.id, input.id)),
})

export const listRunSteps = defineList({
  name: "agent_runs.list_steps",
  summary: "List everything that happened to a run, newest first.",
  path: `${path}/{id}/steps`,
  access: reading,
  columns: ["attempt_number", "kind", "detail", "cost_millicents", "at"],
  input: { id: Uuid },
  examples: [example],
  inject: { runs: AgentRuns },
  collection: RunStepCollection,
  async where({ id }, { organization, deps }) {
    await deps.runs.require(organization, id)
    return { run_id: id }
  },
  items: { steps: RunStepResource },
  view: shownStep,
})

export const cancelRun = defineOperation({
  name: "agent_runs.cancel",
  summary: "Cancel a run that has not ended; an answer that comes later is not taken.",
  description: "A call in progress is not recalled, and may cost something.",
  http: { method: "POST", path: `${path}/{id}/cancel` },
  access: writing,
  hints: { readOnly: false, destructive: true, idempotent: false },
  input: z.strictObject({ id: Uuid, reason: z.string().trim().max(1_000).default("") }),
  output: AgentRunResource,
  errors: ["not_found", "failed_precondition", "aborted"],
  examples: [waiting()],
  inject: { runs: AgentRuns },
  async handle({ input: { id, reason }, caller, deps, work }) {
    const organization = caller.organization.id
    const run = await deps.runs.require(organization, id)
    const why = reason === "" ? "Canceled by a caller." : reason
    return shownRun(
      await deps.runs.move(work, organization, run, { event: "cancel", step: { kind: "canceled", detail: why }, reason: why }),
    )
  },
  onConflict: async ({ error }) => error,
})

export const resumeRun = defineOperation({
  name: "agent_runs.resume",
  summary: "Ask the agent of a failed or canceled run once more.",
  http: { method: "POST", path: `${path}/{id}/resume` },
  access: writing,
  hints: { readOnly: false, destructive: false, idempotent: false, openWorld: "by_job" },
  input: z.strictObject({ id: Uuid }),
  output: AgentRunResource,
  errors: ["not_found", "failed_precondition", "aborted"],
  examples: [
    {
      given: { ...waiting().given, canceled: { operation: "agent_runs.cancel", input: { id: resultOf("run.id") } } },
      input: { id: resultOf("canceled.id") },
    },
  ],
  inject: { runs: AgentRuns },
  async handle({ input: { id }, caller, deps, work }) {
    const organization = caller.organization.id
    const run = await deps.runs.require(organization, id)
    return shownRun(await deps.runs.move(work, organization, run, { event: "resume", step: { kind: "queued", detail: "" } }))
  },
  onConflict: async ({ error }) => error,
})

/** Setup of an example: a run of a slow agent. The agent answers 202 and calls back. */
function waiting() {
  const credentials = { base_url: "https://agents.example.com" }
  return {
    given: {
      connection: { operation: "integrations.connect", input: { app: "http", name: "Agents", credentials, share_with_org: true } },
      agent: {
        operation: "agents.create",
        input: { key: "slow", name: "Slow", protocol: "webhook", integration: resultOf("connection.integration_id") },
      },
      run: { operation: "agent_runs.start", input: { agent_key: resultOf("agent.key"), input: "Write a report." } },
    },
    input: { id: resultOf("run.id") },
  }
}
