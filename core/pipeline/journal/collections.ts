// Collections of the journal: entries, payloads, intents of awaited steps and seen keys. Payloads are separate and expire
// earlier. They serve replays.
import { type Document, defineCollection, type Json } from "../../contract/collection.ts"
import type { UnitOfWork } from "../../contract/unit-of-work.ts"
import { timestamp } from "../../kernel/clock.ts"
import type { JournalEntry } from "./entry.ts"
import { entryPhrases, restoredEntry } from "./stored.ts"

// Entries committed long after the receipt of their event. A reader in order of receipt would miss them. Most events take
// milliseconds and need no such record.

/**
 * A reader this far behind the present sees all entries if it also reads this collection. A commit can be late because of an
 * election.
 */
export const lateMs = 5_000

/** `id` is the execution's id. */
interface LateEntry extends Document {
  expires_at: string
}

/** Executions with late commits. Readers of the journal return to these. */
export const LateEntryCollection = defineCollection<LateEntry>()({
  name: "late_executions",
  scope: "organization",
  times: ["expires_at"],
  indexes: [],
  expires: "expires_at",
  audit: "none",
})

/** Call this for each staged entry. */
export function noteLate(work: UnitOfWork, organization: string, { id, received_at, expires_at }: JournalEntry, now: number): void {
  // Compares texts, to avoid parsing the time of every event.
  if (received_at > timestamp(now - lateMs)) return
  work.in(LateEntryCollection, organization).insert({ id, expires_at }, { ifPresent: "keep" })
}

/**
 * The journal: an entry per event, listed by time of receipt. An id may have another time, because a forwarded event derives its
 * id from the sending step.
 */
export const EntryCollection = defineCollection<JournalEntry>()({
  name: "executions",
  scope: "organization",
  times: ["received_at", "first_at", "last_at", "expires_at"],
  indexes: [
    { fields: ["pipeline_id", "received_at"] },
    { fields: ["pipeline_id", "status", "is_test", "received_at"] },
    { fields: ["received_at"] },
    { fields: ["cause", "received_at"], sparse: true },
    { fields: ["cause", "pipeline_id", "received_at"], sparse: true },
    { fields: ["replay_of", "received_at"], sparse: true },
    // Indexes of rare events over all pipelines. Most events are in no such index.
    { fields: ["is_test", "received_at"], only: { status: "failed" } },
    { fields: ["is_test", "received_at"], only: { status: "rejected" } },
    { fields: ["received_at"], only: { status: "accepted", is_test: true } },
  ],
  expires: "expires_at",
  audit: "size",
  auditFields: ["pipeline_id"],
  repairsText: true,
  phrases: entryPhrases,
  restore: restoredEntry,
})

/** The payload of an event without its proof. `id` is the execution's id. */
export interface KeptPayload extends Document {
  /** JSON text. Null if the body was not JSON, and a replay is then impossible. */
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
  audit: "size",
  repairsText: true,
})

/**
 * The intent of an awaited action before the reply, and its outcome. A retry or replay reads it and does not repeat the action
 * blindly. `id` is the step's idempotency key.
 */
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
  audit: "size",
})

/** A key seen by a pipeline with deduplication. Only accepted events store a key. */
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

export const journalCollections = [EntryCollection, PayloadCollection, IntentCollection, SeenCollection, LateEntryCollection] as const
