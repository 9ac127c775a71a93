// What is to be done for a canary at a time: start a check, or tell that one is late or does not end. Pure.
import type { CheckVerdict, StoredCanary } from "./collection.ts"

/** After which a check counts as unfinished, and a check that should have begun as late. */
const graceMs = 5 * 60_000

type Watched = Pick<StoredCanary, "running_since" | "last_started_at" | "interval_minutes">

export interface Due {
  /** Told as an alarm; undefined: none. */
  readonly alarm: Extract<CheckVerdict, "unfinished" | "late"> | undefined
  readonly starts: boolean
}

export function dueOf({ running_since, last_started_at, interval_minutes }: Watched, now: number): Due {
  const isOverdue = running_since !== null && now - Date.parse(running_since) > graceMs
  if (running_since !== null && !isOverdue) return { alarm: undefined, starts: false }
  const sinceDue = now - Date.parse(last_started_at) - interval_minutes * 60_000
  const isLate = running_since === null && sinceDue > graceMs
  return { alarm: isOverdue ? "unfinished" : isLate ? "late" : undefined, starts: isOverdue || sinceDue >= 0 }
}

/** The verdict as it holds now: what was reached, unless no check has ended since one should have. */
export function verdictNow(canary: Watched & Pick<StoredCanary, "verdict">, now: number): CheckVerdict | null {
  return dueOf(canary, now).alarm ?? canary.verdict
}
