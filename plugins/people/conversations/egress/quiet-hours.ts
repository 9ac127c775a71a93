// Quiet hours in the recipient's time zone. The lead's zone comes first, then the possible zones of the number. With several
// zones, a time is quiet if it is quiet in any of them.
import { readFileSync } from "node:fs"
import { parsePhoneNumberFromString } from "libphonenumber-js/max"
import { countryOfUserId } from "../phone.ts"
import type { ConversationSettings } from "../settings.ts"

const minuteMs = 60_000
const quarterMs = 15 * minuteMs
/** Two days, because a clock change can remove a time of day. */
const searchMs = 2 * 24 * 60 * minuteMs

/** Returns the next time outside quiet hours, or `now` if the time is not quiet. Milliseconds since the epoch. */
export function loudAt(zones: readonly string[], now: number, settings: Pick<ConversationSettings, "quiet_from" | "quiet_until">): number {
  const isQuiet = (at: number, zone: string) => isWithin(timeIn(zone, at), settings.quiet_from, settings.quiet_until)
  const next = (among: readonly string[]) => {
    if (!among.some((zone) => isQuiet(now, zone))) return now
    return firstLoud(now, quarterMs, among) ?? firstLoud(now, minuteMs, among)
  }
  const firstLoud = (after: number, stepMs: number, among: readonly string[]) => {
    const until = after + searchMs
    for (let at = after - (after % stepMs) + stepMs; at <= until; at += stepMs) if (!among.some((zone) => isQuiet(at, zone))) return at
    return undefined
  }
  // If no time of day is outside quiet hours in all zones, the first zone decides.
  return next(zones) ?? next(zones.slice(0, 1)) ?? now
}

/**
 * Returns IANA zones: the person's own zone, else the zones of the number's area, else of its country. UTC for numbers without a
 * country, such as satellite phones.
 */
export function zonesOf(address: string, own = ""): readonly string[] {
  if (own !== "") return [own]
  const userCountry = countryOfUserId(address)
  const number = userCountry === undefined ? parsePhoneNumberFromString(address) : undefined
  const tellsArea = areaMobiles.has(number?.countryCallingCode ?? "") || number?.getType()?.startsWith("FIXED_LINE")
  const area = tellsArea ? zonesOfArea(address.slice(1)) : undefined
  if (area) return area
  const country = userCountry ?? number?.country
  if (country === undefined) return ["UTC"]
  let zones = known.get(country)
  if (!zones) {
    // Part of ECMA-402, but missing in TypeScript's types.
    const locale = new Intl.Locale(`und-${country}`) as Intl.Locale & { getTimeZones?(): string[] | undefined }
    zones = locale.getTimeZones?.() ?? []
    known.set(country, zones)
  }
  return zones.length === 0 ? ["UTC"] : zones
}

/** Looks up the longest matching prefix. */
function zonesOfArea(digits: string): readonly string[] | undefined {
  areas ??= readAreas()
  for (let length = Math.min(digits.length, maxPrefix); length > 1; length--) {
    const zones = areas.get(digits.slice(0, length))
    if (zones) return zones
  }
  return undefined
}

/** Calling codes with area codes in mobile numbers: North America, Mexico, Brazil. */
const areaMobiles: ReadonlySet<string> = new Set(["1", "52", "55"])
const maxPrefix = 8
let areas: ReadonlyMap<string, readonly string[]> | undefined

/**
 * Zones by prefix, for countries with several zones. Source: Google's libphonenumber (resources/timezones/map_data.txt,
 * Apache-2.0) as of 2026-08. Prefixes with the same zones as a shorter prefix are left out.
 */
function readAreas(): ReadonlyMap<string, readonly string[]> {
  const table = JSON.parse(readFileSync(new URL("./zones.json", import.meta.url), "utf8")) as Record<string, string>
  return new Map(
    Object.entries(table).flatMap(([zones, prefixes]) => prefixes.split(" ").map((prefix) => [prefix, zones.split(" ")] as const)),
  )
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

/** Returns true within the range. The range crosses midnight if the end is before the start. */
function isWithin(time: string, from: string, until: string): boolean {
  return from <= until ? time >= from && time < until : time >= from || time < until
}
