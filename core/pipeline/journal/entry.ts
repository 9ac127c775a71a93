// The journal's entry: one an event, telling its whole story.

import type { WrittenRow } from "../../contract/action.ts"
import type { LiveMessage, PastMessage } from "../../contract/channel.ts"
import type { Document, Json } from "../../contract/collection.ts"
import { idAt } from "../../kernel/ids.ts"
import type { LogLine } from "../../kernel/log-lines.ts"

export type EntryStatus = "accepted" | "rejected" | "failed"

/** What became of one step. */
export interface StepRecord {
  type: string
  state: "done" | "skipped" | "failed" | "pending" | "running"
  attempts: number
  duration_ms: number
  /** Of a pending step with `for_each` that a limit holds back: the results so far. */
  result: Json
  error: { code: string; message: string } | null
  /** Of a skipped step: the failed one that it would have come after. Absent where its `when` was false. */
  skipped_after?: string
  /** Deferred steps: when the next try is due; while it waits for approval, when it is looked for at the latest. */
  next_at?: string
  /** Of a step that a person had to approve. While it is pending and was not tried, it waits for that. */
  approval_id?: string
}

/** Something of the event that was left out; the rest was carried out. */
export interface EntryWarning {
  pointer: string
  message: string
}

/** The whole story of one event. */
export interface JournalEntry extends Document {
  pipeline_id: string
  pipeline_slug: string
  revision: number
  status: EntryStatus
  /** Stable word for what went wrong; "" when nothing did. */
  cause: string
  error: { code: string; message: string; step?: string } | null
  received_at: string
  is_test: boolean
  payload_preview: string
  /** Where the preview is the whole payload: what else it came with, less its proof. */
  request: { headers: Record<string, string>; query: Record<string, string | string[]> } | null
  response: { status: number; body: string } | null
  /** The accepted entry whose repeat this is. */
  repeat_of: string | null
  replay_of: string | null
  /** True when it was run although the pipeline was disabled, because an admin insisted. */
  forced: boolean
  /** How many events a folded entry stands for; 1 otherwise. */
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
  /** What the transform wrote by `console`, without the values of fields named like secrets. */
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

// What the live channel `executions` tells of an event once it is journalled; told again, it is the same.

/** Without the payload. */
export function announcementOf(entry: JournalEntry): LiveMessage {
  const { id, pipeline_slug: pipeline, pipeline_id, status, cause, received_at, is_test, repeat_of, replay_of } = entry
  const step = entry.error?.step ?? null
  const data = { id, pipeline, pipeline_id, status, cause, step, received_at, is_test, repeat_of, replay_of }
  return { channel: "executions", event: "execution", data }
}

/** In the order of receipt, which the entry's own id need not be in. */
export function announcementId({ id, received_at }: Pick<JournalEntry, "id" | "received_at">): string {
  return idAt(Date.parse(received_at)).slice(0, 13) + id.slice(13)
}

/** The announcement of an entry, as it is told again. */
export function pastAnnouncement(entry: JournalEntry): PastMessage {
  const { event, data } = announcementOf(entry)
  return { id: announcementId(entry), event, data, at: entry.received_at }
}
