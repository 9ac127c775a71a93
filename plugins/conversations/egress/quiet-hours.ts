// Quiet hours by the recipient's clock. A number tells its country, and a country may have several time zones: a time is quiet
// where it is quiet in any of them.
import { parsePhoneNumberFromString } from "libphonenumber-js/max"
import type { ConversationSettings } from "../settings.ts"

const quarterMs = 900_000
const daysQuarters = 96

/** The next time at which it is not quiet; the time itself where it is not. Milliseconds since the epoch. */
export function loudAt(address: string, now: number, settings: Pick<ConversationSettings, "quiet_from" | "quiet_until">): number {
  const zones = zonesOf(address)
  const isQuiet = (at: number, zone: string) => isWithin(timeIn(zone, at), settings.quiet_from, settings.quiet_until)
  const next = (among: readonly string[]) => {
    if (!among.some((zone) => isQuiet(now, zone))) return now
    const first = now - (now % quarterMs) + quarterMs
    return Array.from({ length: daysQuarters }, (_, n) => first + n * quarterMs).find((at) => !among.some((zone) => isQuiet(at, zone)))
  }
  // Where no time of day is loud in all of them, one zone is as good as another.
  return next(zones) ?? next(zones.slice(0, 1)) ?? now
}

/** IANA zones of a number's country; UTC where it has none, as satellite phones do. */
export function zonesOf(address: string): readonly string[] {
  const country = parsePhoneNumberFromString(address)?.country
  if (country === undefined) return ["UTC"]
  let zones = known.get(country)
  if (!zones) {
    // Standard in ECMA-402 by now, and not yet among TypeScript's types.
    const locale = new Intl.Locale(`und-${country}`) as Intl.Locale & { getTimeZones?(): string[] | undefined }
    zones = locale.getTimeZones?.() ?? []
    known.set(country, zones)
  }
  return zones.length === 0 ? ["UTC"] : zones
}

const known = new Map<string, readonly string[]>()
const formats = new Map<string, Intl.DateTimeFormat>()

function timeIn(timeZone: string, at: number): string {
  let format = formats.get(timeZone)
  if (!format) {
    format = new Intl.DateTimeFormat("en-GB", { timeZone, hour: "2-digit", minute: "2-digit", hourCycle: "h23" })
    formats.set(timeZone, format)
  }
  return format.format(at)
}

/** Across midnight where the end is before the beginning. */
function isWithin(time: string, from: string, until: string): boolean {
  return from <= until ? time >= from && time < until : time >= from || time < until
}
