// Times of cron expressions in IANA time zones (croner). When clocks go forward, a skipped time fires at the change. When clocks
// go back, a repeated time fires once.
import { Cron } from "croner"
import type { Timing } from "../contract/schedule.ts"
import { AppError } from "../kernel/errors.ts"

/** Returns the first time after `after`. Throws AppError naming `cron` or `timezone`. */
export function nextTime(timing: Timing, after: Date): Date {
  const next = followingTime(timing, after)
  if (!next) throw refusal("cron", timing.cron, "never comes; give a time that some day has")
  return next
}

/** Returns undefined if no time follows. Throws AppError for a malformed expression or time zone. */
export function followingTime({ cron, timezone = "UTC" }: Timing, after: Date): Date | undefined {
  if (!isTimezone(timezone)) throw refusal("timezone", timezone, "is not an IANA time zone, such as Europe/Berlin or UTC")
  return cronOf(cron, timezone).nextRun(after) ?? undefined
}

function cronOf(cron: string, timezone: string): Cron {
  try {
    return new Cron(cron, { timezone, paused: true })
  } catch (error) {
    const why = (error as Error).message.replace(/^CronPattern: /, "")
    throw refusal("cron", cron, `is not a cron expression such as "0 9 * * 1-5": ${why}`)
  }
}

function isTimezone(timezone: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: timezone })
    return true
  } catch {
    return false
  }
}

function refusal(path: string, value: string, problem: string): AppError {
  const message = `"${value}" ${problem}`
  return new AppError("invalid_argument", `${path}: ${message}.`, { reason: "invalid_fields", fields: [{ path, message }] })
}
