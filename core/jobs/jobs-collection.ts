// Where jobs wait: one document a job, gone when it is done, kept as `dead` when its tries are used up.
import { type Document, defineCollection, type Json } from "../contract/collection.ts"
import type { Requester } from "../contract/gate.ts"
import { type JobProgress, type RetryPolicy, sealContext } from "../contract/job.ts"
import { isRecord } from "../kernel/json.ts"
import type { Sealed } from "../kernel/vault.ts"

/** A job that waits, runs, or has used up its tries (`dead`). */
export interface JobDocument extends Document {
  type: string
  /** The organization it works for; null for the service's own. */
  organization: string | null
  payload: Json
  state: "queued" | "dead"
  /** `<type>/<organization>/<key>`: jobs are claimed by organization in turn, and by key. Absent on jobs of earlier versions. */
  lane?: string
  /** When it may run; while a node holds it, when its lease ends. */
  run_at: string
  /** The node that holds it, "" for none. */
  held_by: string
  attempts: number
  /** How often a node took it up since its last try that ended, because the lease of the one before had run out; absent for never. */
  takeovers?: number
  retry: RetryPolicy
  timeout_ms: number
  last_error: string | null
  /** Set by jobs that count their tries themselves, in place of `attempts`, `retry` and `last_error`. */
  progress?: JobProgress
  created_at: string
  /** When its next try was last put off; absent before its first try. */
  put_off_at?: string
  /** Of a job that has a gate: who asked for it, where somebody did. */
  requester?: Requester
  /** It was hastened while a node held it. */
  hastened?: boolean
  /** The paused organization of a parked job. */
  parked_for?: string
  /** Of a job that waits or waited for a person. */
  approval_id?: string
  /** Headers of the trace in which it was asked for; absent without one. */
  trace?: Record<string, string>
}

/** Where jobs wait: one document a job, gone when it is done. */
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

/** Lanes of one type, and of one organization in it, lie next to each other. */
export function laneOf(type: string, organization: string | null, key = ""): string {
  return `${type}/${organization ?? ""}/${key}`
}
