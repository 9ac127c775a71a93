// Runs of panels and tournaments: what was asked for, and how far it is. A run is found again by the id of the call that
// began it, so that a repeat of the call joins it.
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
  /** What was asked for, as canonical JSON: a repeat with another input is refused. */
  asked: string
  variants: { key: string; page_variant: string }[]
  /** Texts of the variants' HTML as the run began, by key: shown where the browser could not render them. */
  texts: Record<string, string>
  /** Jobs that render the variants, by key; empty without a browser. */
  screenshots: Record<string, string>
  status: "running" | "completed"
  result: Json
  created_at: string
  finished_at: string | null
  /** Of a panel. */
  personas?: PersonaSnapshot[]
  draws?: number
  /** Slugs of personas beyond the limit of a panel. */
  skipped_personas?: string[]
  /** Of a tournament. */
  judge_slug?: string
  criteria?: string
  max_comparisons?: number
  /** Variants that are not judged, since they read like another one; absent until that is known. */
  merges?: Json
}

export const RunCollection = defineCollection<StoredRun>()({
  name: "experiment_runs",
  scope: "organization",
  times: ["created_at", "finished_at"],
  indexes: [{ fields: ["experiment_id", "-id"] }],
})

/** What tells a call's run from another's. */
export interface RunRef {
  /** The call's id. */
  readonly id: string
  readonly asked: string
}

/** The run that this call began before, or the one that it begins now. Throws `invalid_argument` where it began another. */
export async function beginOrJoin(store: Store, organization: string, ref: RunRef, begin: () => Promise<StoredRun>): Promise<StoredRun> {
  const run = await begunRun(store, organization, ref)
  if (run) return run
  try {
    return await begin()
  } catch (error) {
    // Of two calls with one key at the same instant, one begins the run and the other joins it.
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

/** How often a run is looked at that a call waits for; another node may be running it. */
const lookMs = 200

export async function requireRun(store: Store, organization: string, id: string): Promise<StoredRun> {
  const run = await store.open(RunCollection, organization).get(id)
  if (run) return run
  throw new AppError("failed_precondition", `The run ${id} does not exist.`, { reason: "job_failed", retryable: false })
}

/** Resolves to the run once it is completed, or to what it is at the deadline, or when nobody waits any more. */
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
