// Checks the age of a signed request on both sides. An old request is a replay. A timestamp far in the future would stay valid
// for as long as the sender likes.
import { z } from "zod"
import { Refused } from "../request/refusal.ts"

/** `iso`: RFC 3339 with any number of fractional digits. `any`: another unit, or an HTTP date. */
const TimeUnit = z.enum(["s", "ms", "iso", "any"])
export type TimeUnit = z.output<typeof TimeUnit>

const defaultTolerance_s = 300

/** The setting `tolerance_s` of auth modes. */
export const Tolerance = z
  .int()
  .min(1)
  .max(604_800)
  .default(defaultTolerance_s)
  .describe("Tolerance of the timestamp in seconds, in both directions.")

export const TimestampRule = z.strictObject({
  /** Places in the syntax of the provider table. `part` is the timestamp part of the signature header. */
  at: z.array(z.string()).min(1),
  unit: TimeUnit,
  /** Window in seconds. The default applies if the provider documents no window. */
  tolerance_s: z.int().positive().default(defaultTolerance_s),
})
export type TimestampRule = z.output<typeof TimestampRule>

const iso = /^\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:[Zz]|[+-]\d{2}:?\d{2})$/
const httpDate = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/

/** Returns milliseconds since the epoch, or undefined if the text is not a time in this unit. */
function parseTime(text: string, unit: TimeUnit): number | undefined {
  switch (unit) {
    case "s":
      return /^\d{1,11}$/.test(text) ? Number(text) * 1_000 : undefined
    case "ms":
      return /^\d{1,14}$/.test(text) ? Number(text) : undefined
    case "iso":
      return iso.test(text) ? finite(Date.parse(text.replace(/\.(\d{3})\d+/, ".$1"))) : undefined
    case "any":
      if (httpDate.test(text)) return finite(Date.parse(text))
      return parseTime(text, "iso") ?? (text.length >= 12 ? parseTime(text, "ms") : parseTime(text, "s"))
  }
}

function finite(milliseconds: number): number | undefined {
  return Number.isFinite(milliseconds) ? milliseconds : undefined
}

const unitNames: Readonly<Record<TimeUnit, string>> = {
  s: "seconds since 1970",
  ms: "milliseconds since 1970",
  iso: "an RFC 3339 time",
  any: "a date or a Unix time",
}

/**
 * Throws Refused if the time is unreadable or outside the window. Call it after the signature check, because its message states
 * that the signature is right.
 */
export function checkAge(text: string, rule: Pick<TimestampRule, "unit" | "tolerance_s">, now: number): void {
  const signedAt = parseTime(text, rule.unit)
  if (signedAt === undefined) {
    throw new Refused("timestamp_malformed", `The timestamp "${text.slice(0, 64)}" is not ${unitNames[rule.unit]}.`)
  }
  const age_s = (now - signedAt) / 1_000
  if (Math.abs(age_s) <= rule.tolerance_s) return
  const window = `the window is ${rule.tolerance_s} s (auth_config.tolerance_s)`
  if (age_s > 0) {
    throw new Refused(
      "timestamp_too_old",
      `The signature is right but was made ${Math.round(age_s)} s ago; ${window}. The event is replayed, or a clock is slow.`,
    )
  }
  throw new Refused(
    "timestamp_in_future",
    `The signature is right but is dated ${Math.round(-age_s)} s ahead; ${window}. One of the two clocks is wrong.`,
  )
}
