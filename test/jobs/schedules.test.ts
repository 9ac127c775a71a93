// Schedules of jobs with moved clocks: times in a time zone, one run across nodes, one late run for missed times.

import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import { z } from "zod"
import { AppError, defineJob, definePlugin, Scheduler, UnitsOfWork } from "#core"
import type { TestHost } from "#core/testing"
import type { Timing } from "../../core/contract/schedule.ts"
import { nextTime } from "../../core/jobs/cron.ts"
import { MovableClock } from "../../core/kernel/movable-clock.ts"
import { onBothStores, onMongo } from "../pipeline/stores.ts"
import { until } from "../waiting.ts"

const dayMs = 86_400_000
const daily: Timing = { cron: "0 9 * * *", timezone: "Europe/Berlin" }

/** A plugin with a daily schedule whose job records its runs. */
function noting(ran: string[]) {
  const job = defineJob({
    type: "sample.note",
    summary: "Notes that it ran.",
    payload: z.strictObject({ note: z.string() }),
    run: async ({ payload, organization }) => void ran.push(`${payload.note}${organization === undefined ? "" : ` of ${organization}`}`),
  })
  const plugin = definePlugin({
    id: "sample-notes",
    config: z.strictObject({}),
    register(registrar) {
      registrar.jobs(job)
      registrar.schedules({ name: "sample.daily", ...daily, job, payload: { note: "daily" } })
    },
  })
  return { job, plugin }
}

/** Moves a service's clock just past the next time. */
function moveTo(host: TestHost, timing: Timing): void {
  host.clock.move(host.get(Scheduler).next(timing).getTime() - host.clock.now() + 1)
}

describe("times of cron expressions", () => {
  const at = (timing: Timing, after: string) => nextTime(timing, new Date(after)).toISOString()

  it("are those of the time zone, whose clocks are set forward and back", () => {
    expect(at(daily, "2026-03-28T12:00:00Z")).to.equal("2026-03-29T07:00:00.000Z")
    expect(at(daily, "2026-10-24T12:00:00Z")).to.equal("2026-10-25T08:00:00.000Z")
    const night = { cron: "30 2 * * *", timezone: "Europe/Berlin" }
    expect(at(night, "2026-03-28T12:00:00Z")).to.equal("2026-03-29T01:00:00.000Z")
    expect(at(night, "2026-10-25T00:30:00Z")).to.equal("2026-10-26T01:30:00.000Z")
    expect(at({ cron: "0 9 * * *" }, "2026-03-29T12:00:00Z")).to.equal("2026-03-30T09:00:00.000Z")
  })

  it("are refused where they are malformed or never come, naming the field", () => {
    for (const [timing, field] of [
      [{ cron: "sometimes" }, "cron"],
      [{ cron: "0 25 * * *" }, "cron"],
      [{ cron: "0 0 30 2 *" }, "cron"],
      [{ cron: "0 9 * * *", timezone: "Mars/Base" }, "timezone"],
    ] as const) {
      const thrown = (() => {
        try {
          return nextTime(timing, new Date(0))
        } catch (error) {
          return error
        }
      })()
      expect(thrown, JSON.stringify(timing)).to.be.instanceOf(AppError)
      expect((thrown as AppError).details.fields?.map(({ path }) => path)).to.deep.equal([field])
    }
  })
})

onBothStores("schedules", ({ start, storage }) => {
  it("run what a plugin declares, each time once", async () => {
    const ran: string[] = []
    const host = await start({ plugins: [noting(ran).plugin] })
    host.clock.set(host.clock.now())
    moveTo(host, daily)
    await until("the first run", () => ran.length === 1)
    moveTo(host, daily)
    await until("the second run", () => ran.length === 2)
    expect(ran).to.deep.equal(["daily", "daily"])
  })

  it("are set, replaced and removed in a unit of work, per organization", async () => {
    const ran: string[] = []
    const { job, plugin } = noting(ran)
    const host = await start({ plugins: [plugin] })
    // With a set clock, no scheduled time passes by itself.
    host.clock.set(host.clock.now())
    const [works, scheduler, organization] = [host.get(UnitsOfWork), host.get(Scheduler), host.organization.id]
    const hourly = { cron: "0 * * * *", timezone: "Asia/Kolkata" }
    const set = (id: string, note: string, timing: Timing) =>
      works.run((work) => void scheduler.set(work, { id, job, payload: { note }, organization, ...timing }))
    await set("one", "replaced", { cron: "*/5 * * * *" })
    await set("one", "hourly", hourly)
    await set("two", "removed", { cron: "*/5 * * * *" })
    await works.run((work) => scheduler.remove(work, job, "two"))
    const refused = await works
      .run((work) => void scheduler.set(work, { id: "three", job, payload: { note: "x" }, cron: "x" }))
      .catch((e) => e)
    expect(refused).to.be.instanceOf(AppError)
    // The plugin's own schedule may run in between, or first.
    const ofSet = () => ran.filter((value) => value !== "daily")
    moveTo(host, hourly)
    await until("the run of the hour", () => ofSet().length > 0)
    moveTo(host, hourly)
    await until("the run of the next hour", () => ofSet().length > 1)
    expect(ofSet()).to.deep.equal([`hourly of ${organization}`, `hourly of ${organization}`])
  })

  it("make one late run of all that were missed while no service was up", async () => {
    const ran: string[] = []
    const dataDir = mkdtempSync(join(tmpdir(), "millrace-schedules-"))
    const env = await storage()
    try {
      const before = await start({ plugins: [noting([]).plugin], dataDir, env })
      await before.stop()
      const clock = new MovableClock()
      clock.move(before.get(Scheduler).next(daily).getTime() + 3 * dayMs - clock.now())
      const host = await start({ plugins: [noting(ran).plugin], dataDir, env, clock })
      await until("the late run", () => ran.length > 0)
      clock.move(host.get(Scheduler).next(daily).getTime() - clock.now() + 1)
      await until("the next run", () => ran.length > 1)
      expect(ran).to.have.length(2)
    } finally {
      rmSync(dataDir, { recursive: true, force: true })
    }
  })
})

onMongo("schedules of several nodes", ({ start, storage }) => {
  it("run once, on one of them", async () => {
    const ran: string[] = []
    const env = await storage()
    const host = await start({ plugins: [noting(ran).plugin], env })
    const nodes = [host, await start({ plugins: [noting(ran).plugin], env, dataDir: host.dataDir })]
    for (const times of [1, 2, 3]) {
      for (const node of nodes) moveTo(node, daily)
      await until(`run ${times}`, () => ran.length >= times)
    }
    expect(ran).to.have.length(3)
  })
})
