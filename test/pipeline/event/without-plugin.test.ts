// Pipelines and deferred steps of a plugin that is no longer loaded. They are refused with a specific reason and stay visible to
// an operator.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import { z } from "zod"
import { defineAction, definePlugin, Store } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { JobCollection } from "../../../core/jobs/jobs-collection.ts"
import { until } from "../../waiting.ts"

let startedAt = 0

const tide = defineAction({
  type: "tide.turn",
  summary: "Turns the tide.",
  timing: "deferred",
  config: z.strictObject({}),
  result: z.json(),
  examples: [{ title: "Turn", yaml: "type: tide.turn" }],
  run({ context: { signal } }) {
    startedAt += 1
    return new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)))
  },
})
const plugin = definePlugin({
  id: "tides",
  config: z.strictObject({}),
  register: (registrar) => registrar.actions(tide),
})

describe("what a plugin left behind that is not loaded", () => {
  let dataDir: string
  let host: TestHost
  before(async () => {
    dataDir = mkdtempSync(join(tmpdir(), "millrace-without-plugin-"))
    const earlier = await testHost({ dataDir, plugins: [plugin as never], env: { MILLRACE_SERVER_DRAIN_MS: "100" } })
    const pipeline = { name: "Turned", state: "active", auth_mode: "none", pipeline: [{ id: "turn", type: "tide.turn" }] }
    const response = await earlier.api<{ inbound_url: string }>("POST", "/v1/event-pipelines", pipeline)
    expect(response.status, JSON.stringify(response.body)).to.equal(200)
    expect((await earlier.send(response.body, {})).status).to.equal(200)
    await until("the step being run", () => startedAt > 0)
    await earlier.stop()
    host = await testHost({ dataDir })
  })
  after(async () => {
    await host.stop()
    rmSync(dataDir, { recursive: true, force: true })
  })

  const reasons = () =>
    host.logged.flatMap((line) => {
      const { err } = JSON.parse(line) as { err?: { details?: { reason?: string } } }
      return err?.details?.reason ?? []
    })

  it("is a pipeline that takes no event", async () => {
    const { status, body } = await host.api<{ code: string; details: object }>("POST", "/v1/event-pipelines/turned/test", { payload: {} })
    expect([status, body.code, body.details]).to.deep.equal([400, "failed_precondition", { reason: "no_longer_compiles" }])
  })

  it("is a deferred step that ends, and says why", async () => {
    const job = await until("the job to be dead", async () => {
      const jobs = await host.get(Store).open(JobCollection).find({ type: "pipeline.deferred", state: "dead" })
      return jobs[0]
    })
    expect(job.last_error).to.include("no longer compiles with the loaded plugins")
    // Logged once it is stored.
    await until("the reason being logged", () => reasons().length > 0)
    expect(reasons()).to.deep.equal(["execution_gone"])
    const { body } = await host.api<{ executions: { status: string }[] }>("GET", "/v1/event-pipelines/turned/executions")
    expect(body.executions.map(({ status }) => status)).to.deep.equal(["failed"])
  })
})
