// Computes the next run of a heartbeat: an interval after its last run, within its active days and window. Times are in its time
// zone. Pure.

import { type Ids, type JobQueue, timestamp, type UnitOfWork } from "#core"
import { beatRef } from "./collections.ts"
import { dayMs, firstInstantAt, minutesLater, type WallTime, wallTime, weekday } from "./zoned-time.ts"

export interface HeartbeatTimes {
  readonly interval_minutes: number
  /** 1 is Monday, 7 is Sunday. A window belongs to the day of its start. At least one day. */
  readonly active_days: readonly number[]
  /** HH:MM, before the end unless the window crosses midnight. Both empty: the whole day. */
  readonly active_window_start: string
  readonly active_window_end: string
  readonly timezone: string
}

export interface ActiveWindow {
  readonly from: number
  /** Exclusive. */
  readonly to: number
}

/** Returns the first active instant an interval after `last` and not before `earliest`, in milliseconds since the epoch. */
export function nextRunAt(times: HeartbeatTimes, last: number, earliest = last): number {
  const due = Math.max(minutesLater(times.timezone, last, times.interval_minutes), earliest)
  return firstActive(times, due)
}

export interface NextRun {
  readonly at: number
  /** The planned local time, if the clocks skip that time on this day. */
  readonly wall: WallTime | undefined
}

/** As `nextRunAt`. If the clocks skip the time of day, the planned time remains: counts from `wall` if set. */
export function nextRun(times: HeartbeatTimes, last: number, wall?: WallTime): NextRun {
  const { timezone, interval_minutes } = times
  const due = minutesLater(timezone, last, interval_minutes, wall)
  const at = firstActive(times, due)
  if (interval_minutes % minutesOfDay !== 0 || at !== due) return { at, wall: undefined }
  const meant = (wall ?? wallTime(timezone, last)) + interval_minutes * 60_000
  return { at, wall: wallTime(timezone, at) === meant ? undefined : meant }
}

/**
 * Returns the first run after `now`. After missed runs, whole days preserve their time of day, and other intervals count from
 * now.
 */
export function nextRunAfter(times: HeartbeatTimes, { at: last, wall }: NextRun, now: number): NextRun {
  const next = nextRun(times, last, wall)
  if (next.at > now) return next
  if (times.interval_minutes % minutesOfDay !== 0) return nextRun(times, now)
  const missed = Math.floor((now - last) / (times.interval_minutes * 60_000))
  // Days differ in length, so the last steps run one by one.
  const skipped = Math.max(1, missed - 1) * times.interval_minutes
  let run = nextRun({ ...times, interval_minutes: skipped }, last, wall)
  while (run.at <= now) run = nextRun(times, run.at, run.wall)
  return run
}

const minutesOfDay = 1_440

/** Returns the first run after `now` on the grid of `next`. Corrects a run set too late by a fast clock. */
export function earlierRun(times: HeartbeatTimes, { at, wall }: NextRun, now: number): NextRun {
  const intervals = Math.ceil((at - now) / (times.interval_minutes * 60_000))
  const before = minutesLater(times.timezone, at, -intervals * times.interval_minutes, wall)
  return nextRunAfter(times, { at: before, wall: undefined }, now)
}

/** Returns the first active instant at or after `instant`. */
export function firstActive(times: HeartbeatTimes, instant: number): number {
  const wall = wallTime(times.timezone, instant)
  const today = wall - (wall % dayMs)
  // Yesterday's window may cross midnight. The same weekday recurs after a week.
  for (let day = -1; day <= 8; day++) {
    const window = windowOf(times, today + day * dayMs)
    if (window && window.to > instant) return Math.max(window.from, instant)
  }
  throw new RangeError("A heartbeat has no active day.")
}

/**
 * Returns the window that begins on a local day. `midnight` is a wall time. If the clocks skip the whole window, it begins at the
 * change and has its usual length.
 */
function windowOf(times: HeartbeatTimes, midnight: number): ActiveWindow | undefined {
  const { active_days, active_window_start, active_window_end, timezone } = times
  if (!active_days.includes(weekday(midnight))) return undefined
  const start = minutesOf(active_window_start || "00:00") * 60_000
  const end = minutesOf(active_window_end || "00:00") * 60_000
  const length = end > start ? end - start : end - start + dayMs
  const from = firstInstantAt(timezone, midnight + start)
  const to = firstInstantAt(timezone, midnight + start + length)
  return { from, to: to > from ? to : from + length }
}

function minutesOf(text: string): number {
  return Number(text.slice(0, 2)) * 60 + Number(text.slice(3))
}

// The beat of a heartbeat: the job for its next run.

/** Stages a beat, and returns the heartbeat's fields. Earlier beats become stale. */
export function beatAt(
  work: UnitOfWork,
  organization: string,
  { queue, ids }: { readonly queue: JobQueue; readonly ids: Ids },
  heartbeat_id: string,
  { at, wall }: NextRun,
) {
  const beat_id = queue.enqueue(work, beatRef, { heartbeat_id }, { organization, id: ids.uuid(), runAt: at })
  return { next_run_at: timestamp(at), next_wall: wall ?? null, beat_id }
}
