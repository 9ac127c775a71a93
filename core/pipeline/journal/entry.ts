// A journal entry describes the complete execution of an event.

import type { WrittenRow } from "../../contract/action.ts"
import type { LiveMessage, PastMessage } from "../../contract/channel.ts"
import type { Document, Json } from "../../contract/collection.ts"
import { idAt } from "../../kernel/ids.ts"
import type { LogLine } from "../../kernel/log-lines.ts"

export type EntryStatus = "accepted" | "rejected" | "failed"

/** Outcome of a step. */
export interface StepRecord {
  type: string
  state: "done" | "skipped" | "failed" | "pending" | "running"
  attempts: number
  duration_ms: number
  /** Results so far of a pending step with `for_each`, if a limit paused it. */
  result: Json
  error: { code: string; message: string } | null
  /** For a skipped step: the failed step before it. Absent if its `when` was false. */
  skipped_after?: string
  /** For deferred steps: time of the next try. During a wait for approval: latest time of the next check. */
  next_at?: string
  /** Approval of a gated step. The step waits for the approval while it is pending with no tries. */
  approval_id?: string
}

/** A part of the event that was left out. The rest was processed. */
export interface EntryWarning {
  pointer: string
  message: string
}

/** The complete record of an event. */
export interface JournalEntry extends Document {
  pipeline_id: string
  pipeline_slug: string
  revision: number
  status: EntryStatus
  /** Stable word for the fault, or "" without a fault. */
  cause: string
  error: { code: string; message: string; step?: string } | null
  received_at: string
  is_test: boolean
  payload_preview: string
  /** Headers and query without proof, if the preview is the whole payload. */
  request: { headers: Record<string, string>; query: Record<string, string | string[]> } | null
  response: { status: number; body: string } | null
  /** The accepted entry of the original event, if this is a repeat. */
  repeat_of: string | null
  replay_of: string | null
  /** True if an admin forced the event on a disabled pipeline. */
  forced: boolean
  /** Number of events in a folded entry, otherwise 1. */
  count: number
  first_at: string
  last_at: string
  verdict: {
    ok: boolean
    mode: string
    cause: string
    message: string
    secret_id: string | null
    event_id: string | null
    event_type: string | null
  }
  dedupe: { key: string; outcome: "first" | "repeat" } | null
  schema_errors: { pointer: string; message: string }[]
  warnings: EntryWarning[]
  /** Console output of the transform, without values of fields named like secrets. */
  logs: LogLine[]
  transformed: Json
  /** By step id, in the order of the graph. */
  steps: Record<string, StepRecord>
  /** Milliseconds by stage. */
  timings: Record<string, number>
  rows: WrittenRow[]
  envelope: Json
  depth: number
  digest: string
  expires_at: string
}

// Messages about journalled events on the live channel `executions`. Repeated announcements are identical.

/** Returns the message without the payload. */
export function announcementOf(entry: JournalEntry): LiveMessage {
  const { id, pipeline_slug: pipeline, pipeline_id, status, cause, received_at, is_test, repeat_of, replay_of } = entry
  const step = entry.error?.step ?? null
  const data = { id, pipeline, pipeline_id, status, cause, step, received_at, is_test, repeat_of, replay_of }
  return { channel: "executions", event: "execution", data }
}

/** Returns an id in order of receipt. The entry's own id may have another order. */
export function announcementId({ id, received_at }: Pick<JournalEntry, "id" | "received_at">): string {
  return idAt(Date.parse(received_at)).slice(0, 13) + id.slice(13)
}

/** Returns the announcement of an entry for later replays of the channel. */
export function pastAnnouncement(entry: JournalEntry): PastMessage {
  const { event, data } = announcementOf(entry)
  return { id: announcementId(entry), event, data, at: entry.received_at }
}
