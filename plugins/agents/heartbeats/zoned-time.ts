// Converts local dates and times of an IANA time zone to instants, by ICU's time zone database. Pure.

export const dayMs = 86_400_000
const minuteMs = 60_000

/** A local time of a zone in milliseconds, as if the zone were UTC. */
export type WallTime = number

const formats = new Map<string, Intl.DateTimeFormat>()

/** Returns true for a name of the database. Refuses offsets like +02:00, because they have no clock changes. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false
  try {
    formatOf(name)
    return true
  } catch {
    return false
  }
}

/** Returns the local time of the zone. */
export function wallTime(zone: string, instant: number): WallTime {
  const part: Partial<Record<Intl.DateTimeFormatPartTypes, number>> = {}
  for (const { type, value } of formatOf(zone).formatToParts(instant)) part[type] = Number(value)
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = part
  return Date.UTC(year, month - 1, day, hour, minute, second) + (((instant % 1_000) + 1_000) % 1_000)
}

/**
 * Returns the first instant with this local time or later. If the clocks skip the time, returns the change itself. If they repeat
 * it, returns the first.
 */
export function firstInstantAt(zone: string, wall: WallTime): number {
  const offsets = [-dayMs, dayMs].map((apart) => wallTime(zone, wall + apart) - (wall + apart))
  const candidates = offsets.map((offset) => wall - offset).sort((a, b) => a - b)
  for (const instant of candidates) if (wallTime(zone, instant) === wall) return instant
  let [before = wall, after = wall] = candidates
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2)
    if (wallTime(zone, middle) >= wall) after = middle
    else before = middle
  }
  return after
}

/**
 * Adds whole days by the calendar and the remainder by the clock. A day later has the same time of day, also across clock
 * changes.
 * `wall` is the starting local time if the clocks skipped it and `instant` is their change.
 */
export function minutesLater(zone: string, instant: number, minutes: number, wall = wallTime(zone, instant)): number {
  const days = Math.floor(minutes / 1_440)
  const dayLater = days === 0 ? instant : firstInstantAt(zone, wall + days * dayMs)
  return dayLater + (minutes - days * 1_440) * minuteMs
}

/** Returns the weekday: 1 is Monday, 7 is Sunday (ISO 8601). */
export function weekday(wall: WallTime): number {
  return new Date(wall).getUTCDay() || 7
}

function formatOf(zone: string): Intl.DateTimeFormat {
  const cached = formats.get(zone)
  if (cached) return cached
  const numeric = "numeric"
  const fields = { year: numeric, month: numeric, day: numeric, hour: numeric, minute: numeric, second: numeric } as const
  const format = new Intl.DateTimeFormat("en-US", { timeZone: zone, calendar: "iso8601", hourCycle: "h23", ...fields })
  // Names are case-insensitive, so callers could fill the cache.
  if (formats.size >= 2_000) formats.clear()
  formats.set(zone, format)
  return format
}
