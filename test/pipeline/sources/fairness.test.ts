// One organization floods while the other is quiet. The flood is refused at the bound; the quiet organization is served in time.
import { fork } from "node:child_process"
import { once } from "node:events"
import { join } from "node:path"
import { expect } from "chai"
import { UnitsOfWork } from "#core"
import { testHost } from "#core/testing"
import type { StoredPipeline } from "../../../core/pipeline/source.ts"
import { ConcurrencyLimiter } from "../../../core/pipeline/sources/concurrency-limiter.ts"
import { ApiKeys, Organizations } from "../../../plugins/platform/organizations/index.ts"
import { runningMs } from "../../slowness.ts"
import { expectWithin, isSoak } from "../../tier.ts"
import { until } from "../../waiting.ts"
import { Bench, type Made, post } from "../bench.ts"

const pipeline = { name: "Leads", state: "active", auth_mode: "none", pipeline: [{ type: "dataset.write", dataset_slug: "leads" }] }
/** Their times are checked only in the soak. */
const quietEvents = isSoak ? 30 : 8

describe("a flood of one organization", () => {
  it("leaves the others their share", async () => {
    const host = await testHost({ env: { MILLRACE_INBOUND_MAX_IN_FLIGHT: "40" } })
    try {
      const loud = await new Bench(host).make(pipeline)
      const key = await host.get(UnitsOfWork).run((work) => {
        const organizations = host.get(Organizations)
        const { id } = organizations.create(work, { name: "Quiet", slug: "quiet" })
        const owner = organizations.addUser(work, { email: "owner@quiet.test", name: "Quiet" })
        organizations.addMember(work, id, owner.id, "owner")
        return host.get(ApiKeys).mint(work, id, { name: "Key", kind: "api_key", role: "owner", scopes: null, user: owner.id }).text
      })
      const response = await host.api<Made>("POST", "/v1/event-pipelines", pipeline, { key })
      expect(response.status, JSON.stringify(response.body)).to.equal(200)
      const flood = fork(join(import.meta.dirname, "flood.ts"), [loud.inbound_url, "120"])
      const turnedAway = async () => {
        const text = await (await fetch(`${host.url}/metrics`)).text()
        return Number(/millrace_events_total\{status="rejected",cause="too_many",pipeline="[0-9a-f-]{36}"\} (\d+)/.exec(text)?.[1] ?? 0)
      }
      await until(async () => (await turnedAway()) > 100)
      const waits: number[] = []
      const statuses = new Set<number>()
      for (let n = 0; n < quietEvents; n++) {
        waits.push(await runningMs(async () => statuses.add((await post(response.body.inbound_url, { n })).status)))
      }
      const answers = once(flood, "message")
      flood.send("stop")
      const [counts] = (await answers) as [Record<string, number>]
      waits.sort((a, b) => a - b)
      console.log(
        `      quiet: p50 ${waits[quietEvents / 2]?.toFixed(0)} ms, most ${waits.at(-1)?.toFixed(0)} ms; flood: ${JSON.stringify(counts)}`,
      )
      expect([...statuses]).to.deep.equal([200])
      expect(Object.keys(counts)).to.deep.equal(["200", "429"])
      // A longer time would mean that it waited behind the flood.
      expectWithin(1_000, waits.at(-1), "the slowest answer to the quiet organization")
    } finally {
      await host.stop()
    }
  })
})

describe("the concurrency limiter", () => {
  const of = (organization: string, id: string) => ({ id, organization: { id: organization } }) as StoredPipeline
  const enter = (limiter: ConcurrencyLimiter, stored: StoredPipeline, times: number) => {
    let entered = 0
    for (let n = 0; n < times; n++) if (limiter.tryAcquire(stored)) entered++
    return entered
  }

  it("is bounded as a whole, for an organization and for a pipeline", () => {
    const limiter = new ConcurrencyLimiter({ all: 100, organization: 60, pipeline: 50 })
    expect(enter(limiter, of("a", "a1"), 200)).to.equal(50)
    expect(enter(limiter, of("a", "a2"), 200)).to.equal(10)
    for (const item of ["b", "c", "d", "e"]) enter(limiter, of(item, item), 10)
    expect(limiter.inFlight).to.equal(100)
    expect(enter(limiter, of("f", "f1"), 1)).to.equal(0)
    limiter.release(of("a", "a1"))
    expect(enter(limiter, of("f", "f1"), 2)).to.equal(1)
  })

  it("keeps its last quarter for organizations below an even share", () => {
    const limiter = new ConcurrencyLimiter({ all: 100, organization: 100, pipeline: 100 })
    enter(limiter, of("a", "a1"), 70)
    expect(enter(limiter, of("b", "b1"), 1)).to.equal(1)
    expect(enter(limiter, of("a", "a1"), 100)).to.equal(4)
    expect(enter(limiter, of("b", "b1"), 100)).to.equal(25)
  })
})
