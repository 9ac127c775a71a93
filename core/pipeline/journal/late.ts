// Entries that are committed long after their event was received: who reads the journal on in the order of receipt would pass
// them by. Most events take milliseconds and leave nothing here.
import { type Document, defineCollection } from "../../contract/collection.ts"
import type { UnitOfWork } from "../../contract/unit-of-work.ts"
import { timestamp } from "../../kernel/clock.ts"
import type { JournalEntry } from "./entry.ts"

/** A reader that stays this far behind, and looks here, misses none: a commit itself may wait for an election. */
export const lateMs = 5_000

/** `id` is the execution's. */
export interface LateEntry extends Document {
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
