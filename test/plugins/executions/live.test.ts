// The live channel of events with the service's filters: received messages, and messages received late after a loss.
import { expect } from "chai"
import { UnitsOfWork } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { connectLive, type Live, type LiveFilter } from "../../../client/live.ts"
import { ApiKeys, Organizations } from "../../../plugins/platform/organizations/index.ts"
import { until } from "../../waiting.ts"

interface Announced {
  readonly pipeline: string
  readonly status: string
  readonly is_test: boolean
}

const keepMessages = 20

describe("live events", () => {
  let host: TestHost
  let guest: string
  let foreign: string
  const open: Live[] = []
  before(async () => {
    host = await testHost({ env: { MILLRACE_LIVE_KEEP_MESSAGES: String(keepMessages) } })
    const failing = { type: "dataset.write", dataset_slug: "leads", key: "email", row: { email: "{{ event.email }}" } }
    for (const input of [
      { name: "Busy", pipeline: [] },
      { name: "Quiet", pipeline: [] },
      { name: "Failing", pipeline: [failing] },
    ]) {
      const response = await host.api("POST", "/v1/event-pipelines", { ...input, state: "active", source_kind: "internal" })
      expect(response.status, JSON.stringify(response.body)).to.equal(200)
    }
    guest = (await host.api<{ secret: string }>("POST", "/v1/api-keys", { name: "guest", role: "guest" })).body.secret
    foreign = await host.get(UnitsOfWork).run((work) => {
      const other = host.get(Organizations).create(work, { name: "Other", slug: "other" })
      return host.get(ApiKeys).mint(work, other.id, { name: "Key", kind: "api_key", role: "admin", scopes: null, user: null }).text
    })
  })
  afterEach(() => {
    for (const live of open.splice(0)) live.close()
  })
  after(() => host.stop())

  const send = async (slug: string, payload: object = { secret: "Ada" }, is_test = false) => {
    await host.api("POST", `/v1/event-pipelines/${slug}/events`, { payload, is_test })
  }
  async function hearing(filter: LiveFilter, { token = host.adminKey, after = "" } = {}) {
    const live = connectLive<{ executions: Announced }>({ url: host.url, token, reconnectMs: 1 })
    open.push(live)
    const messages: string[] = []
    let gaps = 0
    const lines: unknown[] = []
    const subscription = live.subscribe(
      "executions",
      (message) => {
        lines.push(message)
        messages.push([message.data.pipeline, message.data.status, message.data.is_test ? "test" : ""].join(" ").trim())
      },
      { filter, onGap: () => void gaps++, ...(after !== "" && { after }) },
    )
    await subscription.ready
    const hasHeard = (count: number) => until(`${count} events`, () => messages.length >= count, { everyMs: 1 })
    return { heard: messages, said: lines, hasHeard, gaps: () => gaps, close: () => live.close(), position: () => subscription.position() }
  }

  it("come by pipeline, status, cause and test or not, without payloads, and to nobody else's", async () => {
    const [quiet, failed, caused, tests, all, others, asGuest] = await Promise.all([
      hearing({ pipeline: "quiet" }),
      hearing({ status: "failed" }),
      hearing({ cause: "action_failed", pipeline: "failing" }),
      hearing({ is_test: true }),
      hearing({}),
      hearing({ pipeline: "quiet" }, { token: foreign }),
      hearing({ pipeline: "quiet", is_test: false }, { token: guest }),
    ])
    await send("busy")
    await send("quiet")
    await send("failing", { email: "" })
    await send("busy", { secret: "Ada" }, true)
    await send("quiet")
    await Promise.all([all.hasHeard(5), quiet.hasHeard(2), failed.hasHeard(1), caused.hasHeard(1), tests.hasHeard(1), asGuest.hasHeard(2)])
    expect(all.heard).to.deep.equal(["busy accepted", "quiet accepted", "failing failed", "busy accepted test", "quiet accepted"])
    expect(quiet.heard).to.deep.equal(["quiet accepted", "quiet accepted"])
    expect([failed.heard, caused.heard]).to.deep.equal([["failing failed"], ["failing failed"]])
    expect(tests.heard).to.deep.equal(["busy accepted test"])
    expect(asGuest.heard).to.deep.equal(quiet.heard)
    expect(JSON.stringify([all.said, asGuest.said])).to.not.include("Ada")
    expect(others.heard).to.deep.equal([])
  })

  it("come late by the same filter, all of them, however many others there were meanwhile", async () => {
    const filters: LiveFilter[] = [{ pipeline: "quiet" }, { status: "failed" }, { cause: "action_failed" }, { is_test: true }]
    const before = await Promise.all(filters.map((filter) => hearing(filter)))
    const all = await hearing({})
    const positions = [...before, all].map((item) => item.position())
    for (const item of [...before, all]) item.close()
    await send("quiet")
    await send("failing", { email: "" })
    await send("quiet", {}, true)
    for (let n = 0; n < 2 * keepMessages; n++) await send("busy")
    const late = await Promise.all(filters.map((filter, at) => hearing(filter, { after: positions[at] ?? "" })))
    const expected = [["quiet accepted", "quiet accepted test"], ["failing failed"], ["failing failed"], ["quiet accepted test"]]
    await Promise.all(late.map((item, at) => item.hasHeard(expected[at]?.length ?? 0)))
    expect(late.map(({ heard: messages }) => messages)).to.deep.equal(expected)
    expect(late.map((item) => item.gaps())).to.deep.equal([0, 0, 0, 0])
    const lateAll = await hearing({}, { after: positions.at(-1) ?? "" })
    await lateAll.hasHeard(keepMessages)
    expect(lateAll.gaps(), "more than is kept").to.equal(1)
    const others = await hearing({ pipeline: "quiet" }, { after: positions[0] ?? "", token: foreign })
    expect(others.heard).to.deep.equal([])
  })

  it("are refused by a filter that the channel does not have, with those that it has", async () => {
    const refused = await hearing({ slug: "quiet" }).catch((error: unknown) => error)
    expect(refused).to.have.property("code", "invalid_argument")
    expect((refused as Error).message).to.match(/slug.*pipeline, status, cause.* is_test/)
    expect(await hearing({ status: "broken" }).catch((error: unknown) => error)).to.have.property("code", "invalid_argument")
  })
})
