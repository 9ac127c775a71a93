// Replays of page events, and their receipts.
import { expect } from "chai"
import { Store } from "#core"
import { collectionNamed } from "../collection-named.ts"
import { event, Loop, type Published, someone } from "./loop.ts"

interface Replayed {
  readonly status: string
  readonly execution_id: string
  readonly response: { readonly body: { readonly receipt?: Record<string, unknown> } }
  readonly details: { readonly reason: string }
}

describe("replays of page events", () => {
  let loop: Loop
  let page: Published
  let url: string
  let slug: string

  before(async () => {
    loop = await Loop.start()
    page = await loop.publish()
    const pipeline = await loop.pipeline(page)
    url = pipeline.inbound_url
    slug = pipeline.slug
  })
  after(() => loop.host.stop())
  const replay = (id: unknown) => loop.host.api<Replayed>("POST", `/v1/event-pipelines/${slug}/executions/${id as string}/replay`, {})
  const sendEvents = async (...events: { event_id: string; event: string }[]) => {
    const { body } = await loop.send(url, page, { events }, someone())
    return body.results.map((result) => result["execution_id"])
  }
  const replaysOf = async (id: unknown) => (await loop.executions(slug)).filter((entry) => entry["replay_of"] === id)

  it("give a receipt when exactly their row is written", async () => {
    const view = event("pageview")
    const [id] = await sendEvents(view)
    const before = await loop.rowOf(view)
    const { status, body } = await replay(id)
    expect([status, body.status]).to.deep.equal([200, "accepted"])
    const { receipt } = body.response.body
    expect(receipt).to.include({ dataset: "default.page-events", event_id: view.event_id, replay_of: id })
    expect(receipt?.["signature"]).to.match(/^[\w-]{43}$/)
    expect(await loop.rows({ event_id: view.event_id })).to.deep.equal([before])
    expect((await replaysOf(id)).map((entry) => [entry["id"], entry["status"]])).to.deep.equal([[receipt?.["execution_id"], "accepted"]])
  })

  it("write the row that was written, though the page names its elements otherwise by now", async () => {
    const namedPage = await loop.publish([{ key: "control", html: '<a data-cta="Book now!">Book</a>' }])
    const pipeline = await loop.pipeline(namedPage)
    const click = event("cta_click", { element: "Book now!" })
    const { body } = await loop.send(pipeline.inbound_url, namedPage, { events: [click] }, someone())
    await loop.call("PATCH", `/v1/pages/${namedPage.slug}`, { variants: [{ key: "control", html: "<h1>Booked out</h1>" }] })
    const at = `/v1/event-pipelines/${pipeline.slug}/executions/${body.results[0]?.["execution_id"] as string}/replay`
    expect((await loop.host.api("POST", at, {})).status).to.equal(200)
    expect(await loop.rowOf(click)).to.include({ element: "Book now!" })
  })

  it("give none for an event that was refused, leave no row, and say why", async () => {
    const [, id] = await sendEvents(event("pageview"), event("nope"))
    const refused = await replay(id)
    expect([refused.status, refused.body.details.reason]).to.deep.equal([400, "receipt_refused"])
    expect((await replaysOf(id)).map(({ status }) => status)).to.deep.equal(["failed"])
  })

  it("give none while the dataset takes no rows, and their entry failed and says why", async () => {
    const [id] = await sendEvents(event("pageview"))
    // Archived before archiving was refused; it can be reactivated.
    const { id: dataset } = await loop.call<{ id: string }>("GET", "/v1/datasets/page-events")
    const archived = { collection: collectionNamed(loop.host, "datasets"), organization: loop.host.organization.id, id: dataset }
    await loop.host
      .get(Store)
      .commit({ id: "archived", writes: [{ kind: "update", ...archived, update: { $set: { status: "archived" } } }] })
    const refused = await replay(id)
    await loop.call("PATCH", "/v1/datasets/page-events", { status: "active" })
    expect([refused.status, refused.body.details.reason]).to.deep.equal([400, "receipt_refused"])
    const [entry] = await replaysOf(id)
    expect(entry).to.include({ status: "failed", cause: "receipt_refused" })
    expect((await replay(id)).status).to.equal(200)
  })

  it("give none where a later event of the same id holds the row, which stays as it is", async () => {
    const view = event("pageview")
    const [id] = await sendEvents(view)
    await sendEvents({ ...event("lead", { form: "contact" }), event_id: view.event_id })
    const before = await loop.rowOf(view)
    expect(before).to.include({ event: "lead" })
    const refused = await replay(id)
    expect([refused.status, refused.body.details.reason]).to.deep.equal([400, "receipt_refused"])
    const [entry] = await replaysOf(id)
    expect(entry).to.include({ status: "failed", cause: "receipt_refused" })
    expect(await loop.rowOf(view)).to.deep.equal(before)
  })

  it("write nothing while the page's pipeline is disabled, also where an admin insists", async () => {
    const view = event("pageview")
    const [id] = await sendEvents(view)
    const { rows } = await loop.call<{ rows: { id: string }[] }>(
      "GET",
      `/v1/datasets/page-events/rows?filter=${encodeURIComponent(JSON.stringify({ event_id: view.event_id }))}`,
    )
    await loop.call("DELETE", `/v1/datasets/page-events/rows/${rows[0]?.id}`)
    await loop.call("PUT", `/v1/event-pipelines/${slug}`, { state: "disabled" })
    const refused = await replay(id)
    const at = `/v1/event-pipelines/${slug}/executions/${id as string}/replay`
    const forced = await loop.host.api<Replayed & { code: string; message: string }>("POST", at, { force: true })
    expect(await loop.rowOf(view)).to.equal(undefined)
    await loop.call("PUT", `/v1/event-pipelines/${slug}`, { state: "active" })
    expect([refused.status, refused.body.details.reason]).to.deep.equal([400, "not_active"])
    expect([forced.status, forced.body.code, forced.body.details.reason]).to.deep.equal([400, "failed_precondition", "page_analytics_off"])
    expect(forced.body.message).to.include(slug).and.to.include("is not active")
    expect(await loop.rowOf(view)).to.equal(undefined)
    expect(await replaysOf(id)).to.deep.equal([])
    expect((await replay(id)).status, "once it is active again").to.equal(200)
  })

  it("give none when the row is gone the moment after it was written, and no entry says that it was accepted", async () => {
    const view = event("pageview")
    const [id] = await sendEvents(view)
    const store = loop.host.get(Store)
    const commit = store.commit.bind(store)
    // Deletes the row between its commit and the check.
    store.commit = async (commitInput) => {
      const result = await commit(commitInput)
      const row = commitInput.writes.find((write) => write.kind === "newest_wins")
      if (row) {
        store.commit = commit
        const response = await loop.host.api("DELETE", `/v1/datasets/page-events/rows/${row.doc.id}`)
        expect(response.status).to.equal(200)
      }
      return result
    }
    const refused = await replay(id)
    store.commit = commit
    expect([refused.status, refused.body.details.reason]).to.deep.equal([400, "receipt_refused"])
    expect((await replaysOf(id)).map((entry) => [entry["status"], entry["cause"]])).to.deep.equal([["failed", "receipt_refused"]])
    expect(await loop.rows({ event_id: view.event_id })).to.deep.equal([])
  })
})
