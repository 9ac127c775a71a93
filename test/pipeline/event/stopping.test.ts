// A service stops while an event waits for another system. The sender receives a retryable answer, and the journal records the
// finished steps.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import { AppError, type Clock } from "#core"
import { testHost } from "#core/testing"
import { systemClock } from "../../../core/kernel/clock.ts"
import { breakOffMs } from "../../../core/surface/http/server.ts"
import { runningMs } from "../../slowness.ts"
import { until } from "../../waiting.ts"
import { Bench, post } from "../bench.ts"
import { outsideWorld } from "../outside-world.ts"

/** Seconds of delay of the step by a limit. */
const waitS = 60

/** The system clock, but with a long time for answers to aborted events: a busy machine needs more than half a second. */
const clock: Clock = { ...systemClock, after: (ms, run) => systemClock.after(ms === breakOffMs ? 600_000 : ms, run) }

describe("an event that takes longer than a stop waits", () => {
  let dataDir: string
  before(() => {
    dataDir = mkdtempSync(join(tmpdir(), "millrace-stopping-"))
  })
  after(() => rmSync(dataDir, { recursive: true, force: true }))

  it("is answered 503 with Retry-After, journalled as failed, and leaves nothing of what it staged", async () => {
    const world = outsideWorld()
    world.answer = (_act, signal) =>
      new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true }))
    const host = await testHost({ dataDir, clock, plugins: [world.plugin], env: { MILLRACE_SERVER_DRAIN_MS: "50" } })
    const { inbound_url } = await new Bench(host).make({
      name: "Slow",
      pipeline: [
        { id: "save", type: "dataset.write", dataset_slug: "slow" },
        { id: "act", type: "world.act", says: "hello", await: true, timeout_ms: 600_000 },
      ],
    })
    const answer = post(inbound_url, { n: 1 })
    await until("the action began", () => world.acts.length === 1)
    await host.stop()
    const { status, body, headers } = await answer
    expect([status, body.code, body.details.reason, headers.get("retry-after")]).to.deep.equal([503, "unavailable", "stopping", "1"])
    const again = await testHost({ dataDir, plugins: [outsideWorld().plugin] })
    try {
      const bench = new Bench(again)
      const entry = await bench.newest("slow")
      expect(entry).to.include({ id: body.details.execution_id, status: "failed", cause: "stopping" })
      expect(await bench.rows("slow")).to.deep.equal([])
    } finally {
      await again.stop()
    }
  })

  it("ends at once where its step waits for room under a limit", async () => {
    const world = outsideWorld()
    world.answer = () => {
      throw new AppError("unavailable", "full", { reason: "unavailable" }, { notTried: true, retryAfterS: waitS })
    }
    const folder = mkdtempSync(join(dataDir, "limited-"))
    const host = await testHost({ dataDir: folder, clock, plugins: [world.plugin], env: { MILLRACE_SERVER_DRAIN_MS: "50" } })
    const pipeline = [{ id: "act", type: "world.act", says: "hello", await: true, timeout_ms: 600_000 }]
    const { inbound_url } = await new Bench(host).make({ name: "Limited", pipeline })
    const answer = post(inbound_url, { n: 1 })
    await until("the action was asked", () => world.acts.length === 1)
    const milliseconds = await runningMs(() => host.stop())
    const { status, body } = await answer
    expect([status, body.details.reason]).to.deep.equal([503, "stopping"])
    expect(milliseconds).to.be.lessThan((waitS * 1_000) / 2)
    expect(world.acts).to.have.length(1)
  })
})
