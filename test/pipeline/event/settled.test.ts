// Observers of ended events: plugins that count events outside their path.
import { setImmediate as turn } from "node:timers/promises"
import { expect } from "chai"
import { z } from "zod"
import { definePlugin } from "#core"
import { PipelineEngine, PipelineSource, SettledEvents } from "#core/engine"
import { type TestHost, testHost } from "#core/testing"
import { Bench, post } from "../bench.ts"

describe("observers of ended events", () => {
  const observed: string[] = []
  let host: TestHost
  const observer = definePlugin({
    id: "test-observer",
    config: z.strictObject({}),
    register: (registrar) =>
      registrar.run("test observers", {
        inject: { settled: SettledEvents },
        create: ({ settled: settledEvents }) => {
          settledEvents.use(() => {
            throw new Error("this observer is broken")
          })
          settledEvents.use(({ stored, entry }) => observed.push(`${stored.slug} ${entry.status}`))
        },
      }),
  })
  before(async () => {
    host = await testHost({ plugins: [observer] })
  })
  after(() => host.stop())
  beforeEach(() => observed.splice(0))

  const submit = async (name: string, payload: Record<string, string>) => {
    const { slug } = await new Bench(host).make({ name, request_schema: { type: "object", required: ["email"] } })
    const stored = await host.get(PipelineSource).bySlug(host.organization.id, slug)
    if (!stored) throw new Error(`${slug} is missing`)
    return await host.get(PipelineEngine).submit(stored, { payload })
  }

  it("run after the answer", async () => {
    await submit("Answered", { email: "ada@example.com" })
    expect(observed).to.deep.equal([])
    await turn()
    expect(observed).to.deep.equal(["answered accepted"])
  })

  it("run at once if a reader asks for queued events, and count each event once", async () => {
    await submit("Read", { email: "ada@example.com" })
    host.get(SettledEvents).flush()
    expect(observed).to.deep.equal(["read accepted"])
    await turn()
    expect(observed).to.deep.equal(["read accepted"])
  })

  it("see rejected events, and change no answer if an observer throws", async () => {
    const { inbound_url } = await new Bench(host).make({ name: "Rejected", request_schema: { type: "object", required: ["email"] } })
    expect((await post(inbound_url, "{}")).status).to.equal(400)
    expect((await post(inbound_url, { email: "ada@example.com" })).status).to.equal(200)
    expect(observed).to.deep.equal(["rejected rejected", "rejected accepted"])
    expect(host.logged.filter((line) => line.includes("an observer of events failed"))).to.not.deep.equal([])
  })
})
