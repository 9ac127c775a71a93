// Run times of heartbeats in ICU's time zones through the clock changes of 2024 to 2030: some zones in the first tier, more in
// the slow tier, all in the soak.
import { expect } from "chai"
import fc from "fast-check"
import { type HeartbeatTimes, type NextRun, nextRun, nextRunAfter, nextRunAt } from "../../../plugins/agents/heartbeats/next-run.ts"
import { byTier } from "../../tier.ts"

const minuteMs = 60_000
const dayMs = 86_400_000
const [from, to] = [Date.UTC(2024, 0, 1), Date.UTC(2031, 0, 1)]
const whole = { active_days: [1, 2, 3, 4, 5, 6, 7], active_window_start: "", active_window_end: "" }
const berlin = { ...whole, interval_minutes: 60, timezone: "Europe/Berlin" }
const every = byTier({ fast: 40, slow: 8, soak: 1 })
const zones = Intl.supportedValuesOf("timeZone").filter((_, index) => index % every === 0)

/** Local time by an independent reader of the database: day of the week, and minute of the day. */
function clockOf(zone: string): (instant: number) => { day: number; minute: number; date: string } {
  const format = new Intl.DateTimeFormat("sv-SE", { timeZone: zone, dateStyle: "short", timeStyle: "short" })
  return (instant) => {
    const [date = "", time = ""] = format.format(instant).split(" ")
    const [hour = 0, minute = 0] = time.split(":").map(Number)
    return { day: new Date(`${date}T00:00:00Z`).getUTCDay() || 7, minute: hour * 60 + minute, date }
  }
}

/** Returns the instants of the zone's clock changes. */
function changesOf(zone: string): number[] {
  const format = new Intl.DateTimeFormat("en-US", { timeZone: zone, timeZoneName: "longOffset" })
  const offset = (instant: number) => format.formatToParts(instant).find(({ type }) => type === "timeZoneName")?.value
  const changes: number[] = []
  for (let day = from; day < to; day += dayMs) {
    if (offset(day) === offset(day + dayMs)) continue
    let [before, after] = [day, day + dayMs]
    while (after - before > 1_000) {
      const middle = (before + after) / 2
      if (offset(middle) === offset(before)) before = middle
      else after = middle
    }
    changes.push(Math.round(after / minuteMs) * minuteMs)
  }
  return changes
}

const hhmm = fc.integer({ min: 0, max: 1_439 }).map((minute) => new Date(minute * minuteMs).toISOString().slice(11, 16))
const inputs = fc
  .record({
    interval_minutes: fc.oneof(fc.integer({ min: 1, max: 600 }), fc.constantFrom(1_440, 2_880, 10_080)),
    active_days: fc.uniqueArray(fc.integer({ min: 1, max: 7 }), { minLength: 1 }),
    active_window_start: hhmm,
    active_window_end: hhmm,
    /** Minutes from a clock change to the last run. */
    apart: fc.integer({ min: -3_000, max: 3_000 }),
    which: fc.nat(),
    isWhole: fc.boolean(),
  })
  .filter(({ active_window_start, active_window_end }) => active_window_start !== active_window_end)
  .map(({ isWhole, ...item }) => (isWhole ? { ...item, active_window_start: "", active_window_end: "" } : item))

const minuteOf = (text: string) => Number(text.slice(0, 2)) * 60 + Number(text.slice(3))

/** Returns true if the local time is within the window, ignoring that day's clock change. */
function isActive(times: HeartbeatTimes, { day, minute }: { day: number; minute: number }): boolean {
  const { active_days, active_window_start: start, active_window_end: end } = times
  if (start === "") return active_days.includes(day)
  const yesterday = day === 1 ? 7 : day - 1
  if (minuteOf(start) < minuteOf(end)) return active_days.includes(day) && minute >= minuteOf(start) && minute < minuteOf(end)
  return (active_days.includes(day) && minute >= minuteOf(start)) || (active_days.includes(yesterday) && minute < minuteOf(end))
}

describe("the next run of a heartbeat", () => {
  for (const zone of zones) {
    it(`is the first active instant after the interval in ${zone}`, () => {
      const clock = clockOf(zone)
      const changes = changesOf(zone)
      const property = fc.property(inputs, ({ apart, which, ...fields }) => {
        const times = { ...fields, timezone: zone }
        const around = changes[which % Math.max(1, changes.length)] ?? Date.UTC(2024 + (which % 7), 5, 1)
        const last = around + apart * minuteMs
        const next = nextRunAt(times, last)
        const changed = (instant: number) => changes.some((change) => Math.abs(instant - change) < 2 * dayMs)
        expect(next).to.be.greaterThan(last)
        expect(next).to.be.lessThan(last + times.interval_minutes * minuteMs + 9 * dayMs)
        // Whole days follow the calendar; the rest of the interval follows the clock.
        const due = last + times.interval_minutes * minuteMs
        if (times.interval_minutes < 1_440) expect(next).to.be.at.least(due)
        else expect(next).to.be.at.least(due - 3_600_000 * 3)
        if (!changed(next)) expect(isActive(times, clock(next)), "active").to.equal(true)
        // No active time was skipped. The run is within a window or at a clock change.
        const isAtChange = changes.some((change) => next >= change && next < change + dayMs / 2)
        expect(isActive(times, clock(next)) || isAtChange, "active, or put off by a change").to.equal(true)
        const start = Math.max(due, last) + 3 * 3_600_000
        for (let instant = start; instant < next - minuteMs; instant += 7 * minuteMs)
          if (!changed(instant)) expect(isActive(times, clock(instant)), new Date(instant).toISOString()).to.equal(false)
      })
      fc.assert(property, { numRuns: byTier({ fast: 20, slow: 60, soak: 60 }) })
    })
  }

  const at = (text: string) => Date.parse(text)
  const next = (times: HeartbeatTimes, last: string) => new Date(nextRunAt(times, at(last))).toISOString()

  it("keeps an interval of hours by the clock, and one of days by the calendar", () => {
    expect(next(berlin, "2026-03-29T00:30:00Z")).to.equal("2026-03-29T01:30:00.000Z")
    expect(next(berlin, "2026-10-25T00:30:00Z")).to.equal("2026-10-25T01:30:00.000Z")
    const daily = { ...berlin, interval_minutes: 1_440 }
    // Nine in the morning before and after the change, 23 and 25 hours apart.
    expect(next(daily, "2026-03-28T08:00:00Z")).to.equal("2026-03-29T07:00:00.000Z")
    expect(next(daily, "2026-10-24T07:00:00Z")).to.equal("2026-10-25T08:00:00.000Z")
  })

  it("keeps the time of day after a day on which the clocks skip it, also where runs were missed", () => {
    const runs = (times: HeartbeatTimes, first: string, count: number) => {
      const matches: string[] = []
      for (let run: NextRun = { at: at(first), wall: undefined }; matches.length < count; matches.push(new Date(run.at).toISOString()))
        run = nextRun(times, run.at, run.wall)
      return matches
    }
    const daily = { ...berlin, interval_minutes: 1_440 }
    expect(runs(daily, "2027-03-27T01:20:00Z", 3)).to.deep.equal([
      "2027-03-28T01:00:00.000Z",
      "2027-03-29T00:20:00.000Z",
      "2027-03-30T00:20:00.000Z",
    ])
    const windowed = { ...daily, active_window_start: "02:00", active_window_end: "04:00" }
    expect(runs(windowed, "2027-03-27T01:20:00Z", 2)).to.deep.equal(["2027-03-28T01:00:00.000Z", "2027-03-29T00:20:00.000Z"])
    const weekly = { ...daily, interval_minutes: 7 * 1_440, timezone: "America/New_York" }
    expect(runs(weekly, "2027-03-07T07:45:00Z", 2)).to.deep.equal(["2027-03-14T07:00:00.000Z", "2027-03-21T06:45:00.000Z"])
    const skipped = nextRun(daily, at("2027-03-27T01:20:00Z"))
    expect(new Date(nextRunAfter(daily, skipped, at("2027-04-20T12:00:00Z")).at).toISOString()).to.equal("2027-04-21T00:20:00.000Z")
  })

  it("begins a window that the clocks skip at their change, and one that they repeat the first time", () => {
    const night = { ...berlin, active_window_start: "02:00", active_window_end: "02:30" }
    expect(next(night, "2026-03-28T10:00:00Z")).to.equal("2026-03-29T01:00:00.000Z")
    expect(next(night, "2026-10-24T10:00:00Z")).to.equal("2026-10-25T00:00:00.000Z")
  })

  it("lets a window cross midnight into a day that is not active", () => {
    const friday = { ...berlin, active_days: [5], active_window_start: "22:00", active_window_end: "02:00" }
    // From Friday evening into Saturday, but not into Sunday.
    expect(next(friday, "2026-07-03T22:30:00Z")).to.equal("2026-07-03T23:30:00.000Z")
    expect(next(friday, "2026-07-03T23:30:00Z")).to.equal("2026-07-10T20:00:00.000Z")
  })

  it("is not before the earliest that is allowed", () => {
    const earliest = at("2026-07-01T17:00:00Z")
    const office = { ...berlin, active_window_start: "09:00", active_window_end: "18:00" }
    expect(new Date(nextRunAt(office, at("2026-07-01T08:00:00Z"), earliest)).toISOString()).to.equal("2026-07-02T07:00:00.000Z")
  })
})
