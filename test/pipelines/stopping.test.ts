// A service that stops while an event waits for the world outside: the sender is told to send it again, and what was done
// is in the journal.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import { testHost } from "#core/testing"
import { until } from "../waiting.ts"
import { Bench, post } from "./bench.ts"
import { outsideWorld } from "./outside-world.ts"

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
    const host = await testHost({ dataDir, plugins: [world.plugin], env: { MILLRACE_SERVER_DRAIN_MS: "50" } })
    const { inbound_url } = await new Bench(host).make({
      name: "Slow",
      pipeline: [
        { id: "save", type: "dataset.write", dataset_slug: "slow" },
        { id: "act", type: "world.act", says: "hello", await: true },
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
})
