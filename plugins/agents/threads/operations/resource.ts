// Output schemas of agents, threads and runs.
import { z } from "zod"
import { resultOf, Timestamp, Uuid } from "#core"
import { messageRoles, type StoredAgentRun, type StoredMessage, type StoredRunStep, type StoredThread, stepKinds } from "../collections.ts"
import { type RunState, runMachine } from "../runs/transitions.ts"

export const ThreadResource = z
  .object({
    id: Uuid,
    title: z.string(),
    message_count: z.int(),
    created_by_user_id: Uuid.nullable().describe("null where a service principal made it."),
    created_at: Timestamp,
    updated_at: Timestamp,
  })
  .meta({ id: "Thread" })

export function shownThread({ organization_id: _organization, ...resource }: StoredThread) {
  return resource
}

export const MessageResource = z
  .object({
    id: Uuid,
    thread_id: Uuid,
    role: z
      .enum(messageRoles)
      .describe("`user`: a caller; `agent`: the answer of a run; `note`: for people and agents alike, written by a caller."),
    author: z.string().describe("A user or credential; of an answer, the agent's key."),
    content: z.string(),
    agent_run_id: Uuid.nullable(),
    created_at: Timestamp,
  })
  .meta({ id: "ThreadMessage" })

export function shownMessage({ organization_id: _organization, ...resource }: StoredMessage) {
  return resource
}

const HandleResource = z.object({ resource_type: z.string(), resource_id: z.string(), revision_ref: z.string() })

export const runStates = Object.keys(runMachine.states) as [RunState, ...RunState[]]

export const AgentRunResource = z
  .object({
    id: Uuid,
    agent_key: z.string(),
    thread_id: Uuid,
    subject: z.object({ kind: z.string(), id: z.string() }).nullable().describe("What it is for; null where a caller started it."),
    state: z.enum(runStates),
    attempt_number: z.int(),
    input: z.string(),
    output: z.string(),
    summary: z.string(),
    result_kind: z.string(),
    handles: z.array(HandleResource).describe("What the agent says that it made or changed."),
    terminal_reason: z.string().describe("Why it failed or was canceled; empty otherwise."),
    cost_millicents: z.int().describe("Of all attempts."),
    requested_by: z.object({ credential_id: z.string(), user_id: z.string().nullable() }).nullable(),
    revision: z.int(),
    created_at: Timestamp,
    started_at: Timestamp.nullable(),
    ended_at: Timestamp.nullable(),
  })
  .meta({ id: "AgentRun" })

export function shownRun({
  organization_id: _organization,
  agent_id: _agent,
  last_message_id: _last,
  keyed_callback: _keyed,
  ...resource
}: StoredAgentRun) {
  return resource
}

export const RunStepResource = z.object({
  id: Uuid,
  attempt_number: z.int(),
  kind: z.enum(stepKinds),
  detail: z.string(),
  cost_millicents: z.int(),
  at: Timestamp,
})

export function shownStep({ organization_id: _organization, run_id: _run, ...resource }: StoredRunStep) {
  return resource
}

/** Setup calls for examples. */
export const madeThread = { thread: "threads.create" }
export const ofThatThread = { id: resultOf("thread.id") }
