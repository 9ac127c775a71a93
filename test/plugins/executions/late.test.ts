// Events committed long after their receipt. Readers of the journal in order of receipt would miss them.
import { expect } from "chai"
import { Store, timestamp } from "#core"
import { LateEntryCollection, lateMs } from "#core/engine"
import { type TestHost, testHost } from "#core/testing"
import { until } from "../../waiting.ts"
import { collectionNamed } from "../collection-named.ts"

const dayMs = 86_400_000

describe("events that are committed late", () => {
  let host: TestHost
  let waitMs = 0
  before(async () => {
    host = await testHost()
    host.outgoing.fixtures.push(() => {
      host.clock.move(waitMs)
      return { status: 200, headers: {}, body: "{}" }
    })
    const ask = { type: "http.request", await: true, url: "https://slow.example.com/" }
    await host.invoke("event_pipelines.create", { name: "Slow", state: "active", source_kind: "internal", pipeline: [ask] })
  })
  after(() => host.stop())

  const sendOrder = async (order: string, ms: number) => {
    waitMs = ms
    const { execution_id } = await host.invoke<{ execution_id: string }>("event_pipelines.send_event", { slug: "slow", payload: { order } })
    return execution_id
  }
  const noted = async () => (await host.get(Store).open(LateEntryCollection, host.organization.id).find({})).map(({ id }) => id)
  const findIds = async (text: string) =>
    (await host.invoke<{ events: { id: string }[] }>("events.find", { text })).events.map(({ id }) => id)

  it("are noted, and others are not", async () => {
    // Only the test moves the time, however long an event takes.
    host.clock.set(host.clock.now())
    await sendOrder("P-1", lateMs - 1_000)
    const late = await sendOrder("L-1", lateMs)
    expect(await noted()).to.deep.equal([late])
    host.clock.run()
  })

  it("are found where the index has passed their receipt, and in the index afterwards", async () => {
    const [late = ""] = await noted()
    const { id } = host.organization
    // An index written while the events waited: only the late one is noted.
    const index = { id, through: timestamp(host.clock.now()), segments: [], revision: 1 }
    await host.get(Store).commit({
      id: "passed",
      writes: [{ kind: "insert", collection: collectionNamed(host, "event_indexes"), organization: id, doc: index }],
    })
    expect(await findIds("P-1")).to.be.empty
    expect(await findIds("L-1")).to.deep.equal([late])
    const punctual = await sendOrder("P-2", 0)
    host.clock.move(1.5 * dayMs)
    await until("the service's own turn", async () => (await noted()).length === 0)
    expect(await findIds("L-1")).to.deep.equal([late])
    expect(await findIds("P-2")).to.deep.equal([punctual])
  })
})
