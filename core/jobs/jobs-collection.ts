// The stored jobs: one document for each job. A finished job is deleted. A job without attempts left becomes `dead`.
import { type Document, defineCollection, type Json } from "../contract/collection.ts"
import type { Requester } from "../contract/gate.ts"
import { type JobProgress, type RetryPolicy, sealContext } from "../contract/job.ts"
import { isRecord } from "../kernel/json.ts"
import type { Sealed } from "../kernel/vault.ts"

/** A waiting or running job, or a job without attempts left (`dead`). */
export interface JobDocument extends Document {
  type: string
  /** The job's organization; null for the service's own jobs. */
  organization: string | null
  payload: Json
  state: "queued" | "dead"
  /** `<type>/<organization>/<key>`: jobs are claimed by organization in turn, and by key. Absent on jobs of earlier versions. */
  lane?: string
  /** The due time. While a node holds the job: the end of its lease. */
  run_at: string
  /** The node that holds the job; "" if the job is free. */
  held_by: string
  attempts: number
  /** Number of takeovers after an expired lease, since the last completed attempt. Absent for zero. */
  takeovers?: number
  retry: RetryPolicy
  timeout_ms: number
  last_error: string | null
  /** Set by jobs that count their attempts themselves, in place of `attempts`, `retry` and `last_error`. */
  progress?: JobProgress
  created_at: string
  /** Time of the last postponement. Absent before the first attempt. */
  put_off_at?: string
  /** The requester of a gated job, if there is one. */
  requester?: Requester
  /** True if the job was hastened while a node held it. */
  hastened?: boolean
  /** The paused organization of a parked job. */
  parked_for?: string
  /** Set for a job with an approval, pending or decided. */
  approval_id?: string
  /** Trace headers of the request. Absent without a trace. */
  trace?: Record<string, string>
}

/** The stored jobs: one document for each job, deleted when the job is done. */
export const JobCollection = defineCollection<JobDocument>()({
  name: "jobs",
  scope: "global",
  times: ["run_at", "created_at"],
  indexes: [
    { fields: ["state", "type", "run_at"] },
    { fields: ["state", "lane", "run_at"] },
    { fields: ["organization", "state", "created_at"] },
    { fields: ["parked_for"], sparse: true },
  ],
  sealed({ id, payload }) {
    const held = isRecord(payload) ? payload["sealed"] : undefined
    return held === undefined ? [] : [{ path: "payload.sealed", sealed: held as unknown as Sealed, context: sealContext(id) }]
  },
})

/** Returns the lane. Lanes of one type, and of one organization in the type, are adjacent. */
export function laneOf(type: string, organization: string | null, key = ""): string {
  return `${type}/${organization ?? ""}/${key}`
}
