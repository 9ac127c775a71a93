// Local dates and times of an IANA time zone as instants, by the time-zone database of ICU. Pure.

export const dayMs = 86_400_000
const minuteMs = 60_000

/** A local time of a zone in milliseconds, as if the zone were UTC. */
export type WallTime = number

const formats = new Map<string, Intl.DateTimeFormat>()

/** A name of the database; offsets such as +02:00, which know no clock changes, are not. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false
  try {
    formatOf(name)
    return true
  } catch {
    return false
  }
}

/** What the clocks of the zone show. */
export function wallTime(zone: string, instant: number): WallTime {
  const part: Partial<Record<Intl.DateTimeFormatPartTypes, number>> = {}
  for (const { type, value } of formatOf(zone).formatToParts(instant)) part[type] = Number(value)
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = part
  return Date.UTC(year, month - 1, day, hour, minute, second) + (((instant % 1_000) + 1_000) % 1_000)
}

/** The first instant at which the clocks show this time or a later one: the change itself where they skip it, the first of two where they repeat it. */
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
 * Whole days later by the calendar, the rest by the clock: a day later is the same time of day, also where clocks were changed.
 * `wall` is the local time to count from, if the clocks have skipped it and `instant` is their change.
 */
export function minutesLater(zone: string, instant: number, minutes: number, wall = wallTime(zone, instant)): number {
  const days = Math.floor(minutes / 1_440)
  const dayLater = days === 0 ? instant : firstInstantAt(zone, wall + days * dayMs)
  return dayLater + (minutes - days * 1_440) * minuteMs
}

/** 1 is Monday, 7 is Sunday (ISO 8601). */
export function weekday(wall: WallTime): number {
  return new Date(wall).getUTCDay() || 7
}

function formatOf(zone: string): Intl.DateTimeFormat {
  const cached = formats.get(zone)
  if (cached) return cached
  const numeric = "numeric"
  const fields = { year: numeric, month: numeric, day: numeric, hour: numeric, minute: numeric, second: numeric } as const
  const format = new Intl.DateTimeFormat("en-US", { timeZone: zone, calendar: "iso8601", hourCycle: "h23", ...fields })
  // Names may be written in any case.
  if (formats.size >= 2_000) formats.clear()
  formats.set(zone, format)
  return format
}
