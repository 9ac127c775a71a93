// Heartbeats, and the record of their runs.
import { z } from "zod"
import { type Document, defineCollection, type Json, jobRef, type LogLine } from "#core"
import type { Author } from "../../platform/organizations/index.ts"
import type { HeartbeatTimes } from "./next-run.ts"

export const heartbeatKinds = ["script", "instructions"] as const
export type HeartbeatKind = (typeof heartbeatKinds)[number]

export const heartbeatStates = ["active", "paused"] as const
export type HeartbeatState = (typeof heartbeatStates)[number]

export const runStates = ["queued", "running", "succeeded", "failed", "interrupted"] as const
export type RunState = (typeof runStates)[number]

/** What a principal of a heartbeat may be. */
export const heartbeatRoles = ["guest", "member", "admin"] as const
export type HeartbeatRole = (typeof heartbeatRoles)[number]

/** Rows that a script is given. */
export interface DeclaredDataset {
  slug: string
  filter: string
  limit: number
}

export interface StoredHeartbeat extends Document, HeartbeatTimes {
  name: string
  description: string
  kind: HeartbeatKind
  state: HeartbeatState
  /** Why the service paused it; empty where a caller did. */
  paused_reason: string
  active_days: number[]
  /** Null while it is paused. */
  next_run_at: string | null
  /** The local time for which the next run was meant, if clocks skip that time on its day: milliseconds as if the zone were UTC. */
  next_wall?: number | null
  /** The job that makes the next run; any other that comes due is stale. */
  beat_id: string | null

  script_js: string
  datasets: DeclaredDataset[]
  /** Pipeline that gets what the script returns; empty: it is kept as the result alone. */
  pipeline_slug: string

  instructions: string
  /** Name of a configured model; empty: the one for agents. */
  model: string
  role: HeartbeatRole
  /** Operations that the model may call. */
  tools: string[]
  max_steps: number
  budget_millicents: number

  /** The last caller who decided what it does. It does nothing that this author may not. Absent in older heartbeats. */
  made_by?: Author | null
  /** Everybody who decided some of what it does. */
  authors?: Author[]
  /** The run that has not ended; one at a time. */
  current_run_id: string | null
  latest_run_id: string | null
  latest_status: RunState | ""
  latest_reason: string
  latest_run_at: string | null
  /** Failed runs since the last that succeeded. */
  failures: number
  /** What the last run that succeeded made, for the next one. */
  previous: Json
  revision: number
  created_at: string
  updated_at: string
}

export const HeartbeatCollection = defineCollection<StoredHeartbeat>()({
  name: "heartbeats",
  scope: "organization",
  times: ["next_run_at", "latest_run_at", "created_at", "updated_at"],
  indexes: [{ fields: ["state", "id"] }, { fields: ["kind", "id"] }, { fields: ["state", "kind", "id"] }],
})

/** A call of a tool. */
export interface RunStep {
  tool: string
  input: Json
  /** Null until it is answered. */
  ok: boolean | null
  /** The beginning of the answer. */
  answer: string
}

export interface StoredRun extends Document {
  heartbeat_id: string
  cause: "schedule" | "manual"
  state: RunState
  /** When it should have begun. */
  due_at: string
  started_at: string | null
  finished_at: string | null
  /** Which try of its job began it; another try that finds it begun knows that the first was lost. */
  begun_by: string | null
  reason: string
  message: string
  result: Json
  /** Of a script that wrote any. */
  logs?: LogLine[]
  /** Of the event that the result became. */
  execution_id: string | null
  steps: RunStep[]
  cost_millicents: number
  expires_at: string
}

export const RunCollection = defineCollection<StoredRun>()({
  name: "heartbeat_runs",
  scope: "organization",
  times: ["due_at", "started_at", "finished_at", "expires_at"],
  indexes: [{ fields: ["heartbeat_id", "-id"] }, { fields: ["heartbeat_id", "state", "-id"] }],
  expires: "expires_at",
  audit: "size",
  auditFields: ["heartbeat_id"],
})

/** A beat that was lost would end the heartbeat, so it is tried until it is committed. */
export const beatRef = jobRef("heartbeats.beat", z.strictObject({ heartbeat_id: z.string() }), {
  retry: { max_attempts: 10_000, initial_delay_ms: 1_000, factor: 2, max_delay_ms: 60_000 },
})

/** Retried where what came of it could not be stored; a run that fails has ended. */
export const runRef = jobRef("heartbeats.run", z.strictObject({ run_id: z.string() }), {
  retry: { max_attempts: 1_000, initial_delay_ms: 500, factor: 2, max_delay_ms: 60_000 },
})
