// What the journal keeps: entries; the payloads they came with, apart and for a shorter time, so that they can be run
// again; intents of awaited steps; keys that were seen.
import { type Document, defineCollection, type Json } from "../../contract/collection.ts"
import type { UnitOfWork } from "../../contract/unit-of-work.ts"
import { timestamp } from "../../kernel/clock.ts"
import type { JournalEntry } from "./entry.ts"
import { entryPhrases, restoredEntry } from "./stored.ts"

// Entries that are committed long after their event was received: who reads the journal on in the order of receipt would pass
// them by. Most events take milliseconds and leave nothing here.

/** A reader that stays this far behind, and looks here, misses none: a commit itself may wait for an election. */
export const lateMs = 5_000

/** `id` is the execution's. */
interface LateEntry extends Document {
  expires_at: string
}

/** Executions whose entries were committed late, for readers of the journal to come back for. */
export const LateEntryCollection = defineCollection<LateEntry>()({
  name: "late_executions",
  scope: "organization",
  times: ["expires_at"],
  indexes: [],
  expires: "expires_at",
  audit: "none",
})

/** To be called with each entry that is staged. */
export function noteLate(work: UnitOfWork, organization: string, { id, received_at, expires_at }: JournalEntry, now: number): void {
  // As text, which the time of every event need not be read for.
  if (received_at > timestamp(now - lateMs)) return
  work.in(LateEntryCollection, organization).insert({ id, expires_at }, { ifPresent: "keep" })
}

/** The journal: one entry an event. Listed by the time of receipt; an id is not always of that time, since what a step sends on has an id that follows from the step. */
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
    // Of what is rare over all pipelines: most events are in none of these.
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
  audit: "size",
  repairsText: true,
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
  audit: "size",
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

export const journalCollections = [EntryCollection, PayloadCollection, IntentCollection, SeenCollection, LateEntryCollection] as const
