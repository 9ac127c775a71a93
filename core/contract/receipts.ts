// Prevents repeats of calls and mails because of a full disk. The outcome of a call is stored as soon as there is room.
// No further call starts before a commit has succeeded.
import { type Clock, sleep } from "../kernel/clock.ts"
import { AppError } from "../kernel/errors.ts"
import type { Store } from "./store.ts"
import type { StagedWork } from "./unit-of-work.ts"

const againMs = 500
/** Stores without room for the last outcome. */
const full = new WeakSet<object>()

interface Waiting {
  readonly store: Store
  readonly clock: Clock
  /** Aborted when the service stops. */
  readonly signal: AbortSignal
}

/** Commits an outcome. On a full disk it retries until there is room or the service stops. A repeated call is worse than a wait. */
export async function commitOutcome(work: StagedWork, { store, clock, signal }: Waiting): Promise<void> {
  for (;;) {
    try {
      // Repeats of one commit count once.
      await work.commitTo(store)
      return
    } catch (error) {
      if (!isFull(error)) throw error
      full.add(store)
      if (signal.aborted) throw error
      await sleep(clock, againMs, signal)
    }
  }
}

/** Resolves at once, unless an outcome found no room. Then it resolves after a successful commit or when the service stops. */
export async function roomForOutcome({ store, clock, signal }: Waiting): Promise<void> {
  while (full.has(store) && !signal.aborted) {
    try {
      await store.ready()
      full.delete(store)
    } catch {
      await sleep(clock, againMs, signal)
    }
  }
}

function isFull(error: unknown): boolean {
  return error instanceof AppError && error.details["reason"] === "storage_full"
}
