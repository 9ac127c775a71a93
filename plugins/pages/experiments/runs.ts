// Runs of panels and tournaments: their input and progress. A run has the id of the call that started it, so a repeated call
// joins it.
import { AppError, type Changes, type Clock, type Document, defineCollection, type Json, type Store, timestamp } from "#core"
import { sleep } from "#core/engine"

export interface PersonaSnapshot {
  slug: string
  name: string
  description: string
  goals: string[]
  fears: string[]
}

export interface StoredRun extends Document {
  kind: "panel" | "tournament"
  experiment_id: string
  /** The call's input as canonical JSON. A repeat with another input is refused. */
  asked: string
  variants: { key: string; page_variant: string }[]
  /** Texts of the variants' HTML at the start of the run, by key. Used if the browser could not render the variants. */
  texts: Record<string, string>
  /** Render jobs of the variants, by key; empty without a browser. */
  screenshots: Record<string, string>
  status: "running" | "completed"
  result: Json
  created_at: string
  finished_at: string | null
  /** Panels only. */
  personas?: PersonaSnapshot[]
  draws?: number
  /** Slugs of personas beyond the limit of a panel. */
  skipped_personas?: string[]
  /** Tournaments only. */
  judge_slug?: string
  criteria?: string
  max_comparisons?: number
  /** Variants merged into an equal variant and not judged; absent before the check. */
  merges?: Json
}

export const RunCollection = defineCollection<StoredRun>()({
  name: "experiment_runs",
  scope: "organization",
  times: ["created_at", "finished_at"],
  indexes: [{ fields: ["experiment_id", "-id"] }],
})

/** Identifies a call's run. */
export interface RunRef {
  /** The call's id. */
  readonly id: string
  readonly asked: string
}

/** Returns the call's earlier run, or starts it now. Throws `invalid_argument` if the id started a run with another input. */
export async function beginOrJoin(store: Store, organization: string, ref: RunRef, begin: () => Promise<StoredRun>): Promise<StoredRun> {
  const run = await begunRun(store, organization, ref)
  if (run) return run
  try {
    return await begin()
  } catch (error) {
    // Of two concurrent calls with one key, one starts the run and the other joins it.
    const isTaken = error instanceof AppError && error.code === "already_exists"
    const other = isTaken ? await begunRun(store, organization, ref) : undefined
    if (other) return other
    throw error
  }
}

async function begunRun(store: Store, organization: string, { id, asked }: RunRef): Promise<StoredRun | undefined> {
  const run = await store.open(RunCollection, organization).get(id)
  if (!run || run.asked === asked) return run
  throw new AppError("invalid_argument", "The Idempotency-Key was used for another call; take a new key.", {
    reason: "idempotency_key_reused",
  })
}

/** Polling interval for a run; another node may be running it. */
const lookMs = 200

export async function requireRun(store: Store, organization: string, id: string): Promise<StoredRun> {
  const run = await store.open(RunCollection, organization).get(id)
  if (run) return run
  throw new AppError("failed_precondition", `The run ${id} does not exist.`, { reason: "job_failed", retryable: false })
}

/** Resolves when the run is completed, at the deadline, or on abort. Returns the run's current state. */
export async function awaitedRun(
  { store, clock }: { store: Store; clock: Clock },
  organization: string,
  id: string,
  { untilMs, signal }: { untilMs: number; signal: AbortSignal },
): Promise<StoredRun> {
  for (;;) {
    const run = await requireRun(store, organization, id)
    if (run.status === "completed" || clock.monotonic() >= untilMs || signal.aborted) return run
    await sleep(clock, lookMs)
  }
}

export function finished(result: Json, now: number): { $set: Changes } {
  return { $set: { status: "completed", result, finished_at: timestamp(now) } }
}
