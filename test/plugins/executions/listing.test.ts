// Events of all pipelines, by outcome, page by page.
import { expect } from "chai"
import type { TestHost } from "#core/testing"
import { onBothStores } from "../../pipeline/stores.ts"

interface Event {
  readonly id: string
  readonly pipeline_slug: string
  readonly status: string
  readonly cause: string
  readonly is_test: boolean
  readonly received_at: string
}
interface Page {
  readonly events: Event[]
  readonly next_cursor: string
}

/** More pipelines than are read at once; the first ten have events. */
const pipelines = 40
const schema = { type: "object", required: ["email"] }

onBothStores("the list of events", ({ start }) => {
  let host: TestHost
  const all: Event[] = []
  before(async () => {
    host = await start()
    for (let n = 0; n < pipelines; n++) {
      const input = { name: `P${n}`, state: "active", source_kind: "internal", pipeline: [] }
      const checked = n < 10 ? { request_schema: schema } : {}
      expect((await host.api("POST", "/v1/event-pipelines", { ...input, ...checked })).status).to.equal(200)
    }
    for (let n = 0; n < 60; n++) {
      const input = { payload: n % 6 === 0 ? {} : { email: `a${n}@example.com` }, is_test: n % 4 === 0 }
      await host.api("POST", `/v1/event-pipelines/p${n % 10}/events`, input)
    }
    all.push(...(await list("limit=200")).events)
  })
  const list = async (query: string) => {
    const { status, body } = await host.api<Page>("GET", `/v1/events?${query}`)
    expect(status, JSON.stringify(body)).to.equal(200)
    return body
  }
  const paged = async (query: string) => {
    const events: Event[] = []
    for (let cursor = "", pages = 0; pages === 0 || cursor !== ""; pages++) {
      const page = await list(`limit=7${query}&cursor=${cursor}`)
      events.push(...page.events)
      cursor = page.next_cursor
    }
    return events
  }
  const ids = (events: readonly Event[]) => events.map(({ id }) => id)

  it("is in the order of receipt over all pipelines, newest first, and pages through", async () => {
    expect(all).to.have.length(60)
    const times = all.map(({ received_at }) => received_at)
    expect(times).to.deep.equal([...times].sort().reverse())
    expect(ids(await paged(""))).to.deep.equal(ids(all))
  })

  const filters: [string, (event: Event) => boolean][] = [
    ["status=rejected", ({ status }) => status === "rejected"],
    ["status=accepted&is_test=true", ({ status, is_test }) => status === "accepted" && is_test],
    ["is_test=false", ({ is_test }) => !is_test],
    ["cause=schema_mismatch&is_test=true", ({ cause, is_test }) => cause === "schema_mismatch" && is_test],
    ["cause=schema_mismatch&status=rejected", ({ cause }) => cause === "schema_mismatch"],
    ["cause=schema_mismatch&pipeline=p6", ({ cause, pipeline_slug }) => cause === "schema_mismatch" && pipeline_slug === "p6"],
    ["cause=elsewhere", () => false],
    ["pipeline=p3", ({ pipeline_slug }) => pipeline_slug === "p3"],
    ["pipeline=p3&status=accepted", ({ pipeline_slug, status }) => pipeline_slug === "p3" && status === "accepted"],
  ]
  for (const [query, isExpected] of filters) {
    it(`is filtered by ${query}`, async () => {
      expect(ids((await list(`limit=200&${query}`)).events)).to.deep.equal(ids(all.filter(isExpected)))
      expect(ids(await paged(`&${query}`))).to.deep.equal(ids(all.filter(isExpected)))
    })
  }

  it("is filtered by time", async () => {
    const [since, until] = [all[40]?.received_at ?? "", all[10]?.received_at ?? ""]
    const expected = all.filter(({ received_at }) => received_at >= since && received_at < until)
    expect(ids((await list(`limit=200&since=${since}&until=${until}`)).events)).to.deep.equal(ids(expected))
  })

  it("is the same of one pipeline", async () => {
    const path = "/v1/event-pipelines/p0/executions?status=rejected&is_test=true&limit=200"
    const { body } = await host.api<{ executions: Event[] }>("GET", path)
    const expected = all.filter(({ pipeline_slug, status, is_test }) => pipeline_slug === "p0" && status === "rejected" && is_test)
    expect(ids(body.executions)).to.deep.equal(ids(expected))
  })

  it("refuses a cursor of another list, and a pipeline that there is not", async () => {
    const { next_cursor } = await list("limit=5")
    expect((await host.api("GET", `/v1/events?status=failed&cursor=${next_cursor}`)).status).to.equal(400)
    expect((await host.api("GET", "/v1/events?pipeline=nowhere")).status).to.equal(404)
  })
})
