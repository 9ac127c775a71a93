// The journal: one entry an event, telling its whole story; and the payload it came with, kept apart for a shorter time
// so that it can be run again.
import { type Document, defineCollection, type Json } from "../../contract/collection.ts"

export type EntryStatus = "accepted" | "rejected" | "failed"

export interface StepRecord {
  type: string
  state: "done" | "skipped" | "failed" | "pending" | "running"
  attempts: number
  duration_ms: number
  result: Json
  error: { code: string; message: string } | null
  /** Deferred steps: when the next try is due. */
  next_at?: string
}

export interface WrittenRow {
  step: string
  dataset: string
  row_id: string
}

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

export const EntryCollection = defineCollection<JournalEntry>()({
  name: "executions",
  scope: "organization",
  times: ["received_at", "first_at", "last_at", "expires_at"],
  indexes: [{ fields: ["pipeline_id", "id"] }, { fields: ["pipeline_id", "status", "id"] }],
  expires: "expires_at",
})

/** What an event came with, less its proof. `id` is the execution's. */
export interface KeptPayload extends Document {
  /** JSON text, or null where the body was none (then nothing can be replayed). */
  body: string | null
  headers: Record<string, string>
  query: Record<string, string | string[]>
  expires_at: string
}

export const PayloadCollection = defineCollection<KeptPayload>()({
  name: "execution_payloads",
  scope: "organization",
  times: ["expires_at"],
  indexes: [],
  expires: "expires_at",
})

/** The intent to run an awaited action before the reply, and its outcome: what a retry or replay finds instead of acting twice unawares. `id` is the step's idempotency key. */
export interface StepIntent extends Document {
  execution_id: string
  step: string
  state: "started" | "done"
  result: Json
  at: string
  expires_at: string
}

export const IntentCollection = defineCollection<StepIntent>()({
  name: "step_intents",
  scope: "organization",
  times: ["at", "expires_at"],
  indexes: [],
  expires: "expires_at",
})

/** A key seen by a pipeline that deduplicates; only accepted events leave one. */
export interface SeenKey extends Document {
  execution_id: string
  is_test: boolean
  reply: { status: number; headers: Record<string, string>; body: Json }
  expires_at: string
}

export const SeenCollection = defineCollection<SeenKey>()({
  name: "dedupe_keys",
  scope: "organization",
  times: ["expires_at"],
  indexes: [],
  expires: "expires_at",
})

export const journalCollections = [EntryCollection, PayloadCollection, IntentCollection, SeenCollection] as const
