// Threads and their messages, and runs of agents with every step.
import { z } from "zod"
import { type Document, defineCollection, jobRef } from "#core"
import type { ResultHandle } from "./agents/call.ts"
import type { RunState } from "./runs/transitions.ts"

export interface StoredThread extends Document {
  title: string
  message_count: number
  /** Null if created by a service principal, or by the service itself. */
  created_by_user_id: string | null
  created_at: string
  updated_at: string
}

export const ThreadCollection = defineCollection<StoredThread>()({
  name: "threads",
  scope: "organization",
  times: ["created_at", "updated_at"],
  indexes: [{ fields: ["-id"] }],
})

export const messageRoles = ["user", "agent", "note"] as const

export interface StoredMessage extends Document {
  thread_id: string
  role: (typeof messageRoles)[number]
  /** User, credential or key of the agent. */
  author: string
  content: string
  agent_run_id: string | null
  created_at: string
}

export const MessageCollection = defineCollection<StoredMessage>()({
  name: "thread_messages",
  scope: "organization",
  times: ["created_at"],
  indexes: [{ fields: ["thread_id", "-id"] }],
  audit: "size",
  auditFields: ["thread_id", "role", "author"],
  repairsText: true,
})

export interface StoredAgentRun extends Document {
  agent_id: string
  agent_key: string
  thread_id: string
  /** The record behind the run, if another area started it: its kind and id. */
  subject: { kind: string; id: string } | null
  state: RunState
  /** Starts at 1 and increases with each resume. */
  attempt_number: number
  /** True if the callback address contains a token. Runs of earlier versions have no token. */
  keyed_callback?: boolean
  input: string
  /**
   * The newest message visible to the agent: the input, or the thread's last message at the resume. Absent in runs of earlier
   * versions.
   */
  last_message_id?: string
  output: string
  summary: string
  result_kind: string
  handles: ResultHandle[]
  /** Reason of an unsuccessful end. */
  terminal_reason: string
  cost_millicents: number
  requested_by: { credential_id: string; user_id: string | null } | null
  revision: number
  created_at: string
  started_at: string | null
  ended_at: string | null
}

export const AgentRunCollection = defineCollection<StoredAgentRun>()({
  name: "agent_runs",
  scope: "organization",
  times: ["created_at", "started_at", "ended_at"],
  indexes: [
    { fields: ["-id"] },
    { fields: ["state", "-id"] },
    { fields: ["agent_key", "-id"] },
    { fields: ["agent_key", "state", "-id"] },
    { fields: ["thread_id", "-id"] },
    { fields: ["thread_id", "state", "-id"] },
  ],
  audit: "size",
  auditFields: ["state", "agent_key", "thread_id"],
  repairsText: true,
})

export const stepKinds = ["queued", "asked", "try_failed", "handed_over", "reported", "succeeded", "failed", "canceled"] as const

/** A step of a run. Immutable. */
export interface StoredRunStep extends Document {
  run_id: string
  attempt_number: number
  kind: (typeof stepKinds)[number]
  detail: string
  cost_millicents: number
  at: string
}

export const RunStepCollection = defineCollection<StoredRunStep>()({
  name: "agent_run_steps",
  scope: "organization",
  times: ["at"],
  indexes: [{ fields: ["run_id", "-id"] }],
  audit: "none",
  repairsText: true,
})

const payload = z.strictObject({ run_id: z.string(), attempt_number: z.int() })

export const runRef = jobRef("agents.run", payload, {
  retry: { max_attempts: 4, initial_delay_ms: 2_000, factor: 4, max_delay_ms: 60_000 },
  // Longer than an agent's time limit.
  timeoutMs: 330_000,
})

export const expireRef = jobRef("agents.run_expire", payload)
