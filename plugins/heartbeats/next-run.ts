// When a heartbeat runs next: an interval after its last run, within its active window of its active days, in its time zone.
// Pure.
import { dayMs, firstInstantAt, minutesLater, wallTime, weekday } from "./zoned-time.ts"

export interface HeartbeatTimes {
  readonly interval_minutes: number
  /** 1 is Monday, 7 is Sunday; a window belongs to the day on which it begins. At least one. */
  readonly active_days: readonly number[]
  /** HH:MM, and before the end unless the window crosses midnight; both empty: the whole day. */
  readonly active_window_start: string
  readonly active_window_end: string
  readonly timezone: string
}

export interface ActiveWindow {
  readonly from: number
  /** Not itself within. */
  readonly to: number
}

/** The first active instant that is an interval after `last` and not before `earliest`; milliseconds since the epoch. */
export function nextRunAt(times: HeartbeatTimes, last: number, earliest = last): number {
  const due = Math.max(minutesLater(times.timezone, last, times.interval_minutes), earliest)
  return firstActive(times, due)
}

/** The first active instant from `instant` on. */
export function firstActive(times: HeartbeatTimes, instant: number): number {
  const wall = wallTime(times.timezone, instant)
  const today = wall - (wall % dayMs)
  // Yesterday's window may cross midnight; the same weekday comes again in a week.
  for (let day = -1; day <= 8; day++) {
    const window = windowOf(times, today + day * dayMs)
    if (window && window.to > instant) return Math.max(window.from, instant)
  }
  throw new RangeError("A heartbeat has no active day.")
}

/** The window that begins on a local day, given by its midnight as a wall time. One that the clocks skip as a whole begins at their change and has its usual length. */
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
