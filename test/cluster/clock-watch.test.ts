// A clock was ahead and is correct again, in a running service and after a restart.
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import { z } from "zod"
import { defineJob, definePlugin, JobQueue, Store, UnitsOfWork } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { JobCollection } from "../../core/jobs/jobs-collection.ts"
import { ScheduleCollection } from "../../core/jobs/schedules.ts"
import { until } from "../waiting.ts"

const [minuteMs, dayMs] = [60_000, 86_400_000]

interface Heartbeat {
  readonly id: string
  readonly next_run_at: string
}

describe("a clock that was ahead", () => {
  const ran: string[] = []
  const job = defineJob({
    type: "test.clock",
    summary: "A job of the test.",
    payload: z.string(),
    retry: { max_attempts: 3, initial_delay_ms: 1_200_000, factor: 1, max_delay_ms: 1_200_000 },
    async run({ payload, attempt }) {
      if (payload === "fails once" && attempt === 1) throw new Error("not yet")
      ran.push(payload)
    },
  })
  const plugin = definePlugin({ id: "test-clock", config: z.strictObject({}), register: (registrar) => registrar.jobs(job) })
  const start = (dataDir: string) => testHost({ dataDir, plugins: [plugin as never], env: { MILLRACE_JOBS_POLL_MS: "50" } })
  let dataDir: string
  let host: TestHost
  before(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "millrace-clock-"))
    host = await start(dataDir)
  })
  after(async () => {
    await host.stop()
    await rm(dataDir, { recursive: true })
  })

  const enqueue = (payload: string, inMs: number) =>
    host.get(UnitsOfWork).run((work) => host.get(JobQueue).enqueue(work, job, payload, { id: payload, runAt: host.clock.now() + inMs }))
  const jobOf = (id: string) => host.get(Store).open(JobCollection).get(id)
  const inMinutes = (at: string | undefined) => (Date.parse(at ?? "") - host.clock.now()) / minuteMs
  const heartbeat = async (interval_minutes: number) =>
    (
      await host.api<Heartbeat>("POST", "/v1/heartbeats", {
        name: `Every ${interval_minutes}`,
        kind: "script",
        interval_minutes,
        timezone: "Europe/Berlin",
        script_js: "function script() { return null }",
      })
    ).body.id
  const nextRun = async (id: string) => (await host.api<Heartbeat>("GET", `/v1/heartbeats/${id}`)).body.next_run_at
  const corrections = () => host.logged.filter((line) => line.includes("the clock was ahead"))
  /** Events while the clock is a day ahead: a heartbeat runs, a job is postponed, another is enqueued. */
  const dayAhead = async (hourly: string, day: number) => {
    host.clock.set(host.clock.now() + dayMs)
    host.clock.move(10_000)
    await until("the run of a day ahead", async () => inMinutes(await nextRun(hourly)) > 0)
    await enqueue(`later ${day}`, 30 * minuteMs)
    await enqueue("fails once", 0)
    await until("the failure", async () => (await jobOf("fails once"))?.attempts === 1)
  }
  const expectCorrected = async (heartbeats: readonly (readonly [id: string, interval: number])[], day: number) => {
    await until("the correction", () => corrections().length === 1)
    for (const [id, interval] of heartbeats) expect(inMinutes(await nextRun(id)), `every ${interval}`).to.be.within(0, interval)
    expect(inMinutes((await jobOf(`later ${day}`))?.run_at)).to.be.within(28, 30)
    expect(inMinutes((await jobOf("fails once"))?.run_at)).to.be.at.most(20)
    const schedules = await host.get(Store).open(ScheduleCollection).find({ cron: "*/10 * * * *" })
    expect(schedules).to.have.length.above(0)
    for (const { next_at } of schedules) expect(inMinutes(next_at)).to.be.at.most(10)
    const message = JSON.parse(corrections()[0] ?? "") as { level: number; ahead_s: number; corrected: Record<string, number> }
    expect(message.ahead_s).to.be.within(86_000, 91_000)
    expect(message.corrected).to.include.keys("heartbeats", "jobs", "schedules")
    const metrics = await (await fetch(`${host.url}/metrics`, { headers: { authorization: `Bearer ${host.adminKey}` } })).text()
    expect(Number(/^millrace_clock_ahead_seconds (\S+)$/m.exec(metrics)?.[1])).to.be.within(86_000, 91_000)
    expect(metrics).to.match(/^millrace_clock_corrected_times_total\{kind="heartbeats"\} [1-9]/m)
  }

  it("leaves heartbeats, jobs, retries and schedules no later than a clock that is right sets them", async () => {
    const [hourly, daily] = [await heartbeat(60), await heartbeat(1_440)]
    const right = host.clock.now()
    await dayAhead(hourly, 1)
    host.clock.set(right + minuteMs)
    host.clock.move(10_000)
    await expectCorrected(
      [
        [hourly, 60],
        [daily, 1_440],
      ],
      1,
    )
    host.clock.move(61 * minuteMs)
    await until("the runs of the hour", async () => ran.includes("later 1") && ran.includes("fails once"))
    await until("the next run", async () => inMinutes(await nextRun(hourly)) > 0)
  })

  it("is found at the next start, as it was seen before", async () => {
    const [often, weekly] = [await heartbeat(5), await heartbeat(7 * 1_440)]
    ran.splice(0)
    await dayAhead(often, 2)
    await host.stop()
    host = await start(dataDir)
    await expectCorrected(
      [
        [often, 5],
        [weekly, 7 * 1_440],
      ],
      2,
    )
  })
})
