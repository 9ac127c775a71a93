// Counts the outcomes of each step in a pipeline's newest events. Reads the journal, so events pay no cost for the counts.
import type { Store } from "#core"
import type { JournalEntry } from "#core/engine"
import { newestEntries } from "../newest-entries.ts"

export const countedEvents = 200

const states = { done: "done", skipped: "skipped", failed: "failed", pending: "pending", running: "pending" } as const

export interface StepCounts {
  done: number
  skipped: number
  failed: number
  /** Running, or waiting for a turn, an attempt or an approval. */
  pending: number
}

export interface Counts {
  readonly events: { accepted: number; rejected: number; failed: number }
  /** Time of receipt of the oldest counted event. */
  readonly since: string | null
  readonly steps: ReadonlyMap<string, StepCounts>
}

/** Counts the newest entries, without tests. */
export async function countsOf(store: Store, organization: string, pipeline: string): Promise<Counts> {
  const entries = await newestEntries({
    store,
    organization,
    pipelines: async () => [pipeline],
    pipeline,
    filter: { is_test: false },
    limit: countedEvents,
  })
  const events = { accepted: 0, rejected: 0, failed: 0 }
  const steps = new Map<string, StepCounts>()
  for (const entry of entries) {
    events[entry.status] += entry.count
    countSteps(entry, steps)
  }
  return { events, since: entries.at(-1)?.received_at ?? null, steps }
}

function countSteps({ steps, count }: Pick<JournalEntry, "steps" | "count">, into: Map<string, StepCounts>): void {
  for (const [id, { state }] of Object.entries(steps)) {
    const counts = into.get(id) ?? { done: 0, skipped: 0, failed: 0, pending: 0 }
    counts[states[state]] += count
    into.set(id, counts)
  }
}
