// Kinds and states of heartbeats, and the record of their runs.
import { z } from "zod"
import { type Document, defineCollection, type Json, jobRef, type LogLine } from "#core"

/** The result of a run. */
export type RunOutcome = RunEnd & { readonly logs?: readonly LogLine[] }

type RunEnd =
  | {
      readonly ok: true
      readonly result: Json
      readonly execution_id?: string
      readonly cost_millicents?: number
    }
  | {
      readonly ok: false
      /** A stable reason. */
      readonly reason: string
      readonly message: string
      readonly execution_id?: string
      readonly cost_millicents?: number
    }

export const heartbeatKinds = ["script", "instructions"] as const

export const heartbeatStates = ["active", "paused"] as const

export const runStates = ["queued", "running", "succeeded", "failed", "interrupted"] as const
export type RunState = (typeof runStates)[number]

/** Roles of a heartbeat's principal. */
export const heartbeatRoles = ["guest", "member", "admin"] as const
export type HeartbeatRole = (typeof heartbeatRoles)[number]

/** A call of a tool. */
export interface RunStep {
  tool: string
  input: Json
  /** Null until answered. */
  ok: boolean | null
  /** Start of the answer. */
  answer: string
}

export interface StoredRun extends Document {
  heartbeat_id: string
  cause: "schedule" | "manual"
  state: RunState
  /** Planned start. */
  due_at: string
  started_at: string | null
  finished_at: string | null
  /** Id of the try of the job that does the run. Writes of an earlier try conflict. */
  begun_by: string | null
  reason: string
  message: string
  result: Json
  /** Set if the script wrote logs. */
  logs?: LogLine[]
  /** Execution of the resulting event. */
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

/** A lost beat would end the heartbeat, so the job retries until it is committed. */
export const beatRef = jobRef("heartbeats.beat", z.strictObject({ heartbeat_id: z.string() }), {
  retry: { max_attempts: 10_000, initial_delay_ms: 1_000, factor: 2, max_delay_ms: 60_000 },
})

/** Retried if its result was not stored. A failed run has ended. */
export const runRef = jobRef("heartbeats.run", z.strictObject({ run_id: z.string() }), {
  retry: { max_attempts: 1_000, initial_delay_ms: 500, factor: 2, max_delay_ms: 60_000 },
})
