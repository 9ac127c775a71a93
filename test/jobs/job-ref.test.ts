// Job references, separate from their handlers.
import { expect } from "chai"
import { z } from "zod"
import { defineJob, definePlugin, JobQueue, type Json, jobRef, Store, UnitsOfWork } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { JobCollection } from "../../core/jobs/jobs-collection.ts"
import { until } from "../waiting.ts"

describe("a job reference", () => {
  const retry = { max_attempts: 3, initial_delay_ms: 5, factor: 2, max_delay_ms: 20 }
  const ref = jobRef("test.apart", z.json(), { retry, timeoutMs: 9_000 })
  const started = Promise.withResolvers<Json>()
  const released = Promise.withResolvers<void>()
  const job = defineJob(ref, {
    summary: "A job with a handler of its own.",
    run({ payload }) {
      started.resolve(payload)
      return released.promise
    },
  })
  const plugin = definePlugin({ id: "test-jobs", config: z.strictObject({}), register: (registrar) => registrar.jobs(job) })
  let host: TestHost
  before(async () => {
    host = await testHost({ plugins: [plugin] })
  })
  after(() => host.stop())

  it("stores its retry policy and deadline with the job, and runs the handler", async () => {
    const stored = () => host.get(Store).open(JobCollection).find({ type: "test.apart" })
    await host.get(UnitsOfWork).run((work) => host.get(JobQueue).enqueue(work, ref, { of: "the reference" }))
    expect(await started.promise).to.deep.equal({ of: "the reference" })
    expect((await stored())[0]).to.deep.include({ retry, timeout_ms: 9_000 })
    released.resolve()
    await until("the end of the job", async () => (await stored()).length === 0)
  })
})
