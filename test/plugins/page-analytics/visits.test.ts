// From a browser's batch to an answer in SQL: analytics count the stored page events. Also the `enabled` state.
import { expect } from "chai"
import { testHost } from "#core/testing"
import { runningMs } from "../../slowness.ts"
import { expectWithin } from "../../tier.ts"
import { pluginSettings } from "../buckets/stores.ts"
import { event, eventId, iphoneInstagram, Loop, type Published, someone } from "../page-events/loop.ts"
import { AnalyticsHost } from "./host.ts"

describe("page analytics of real visits", () => {
  let loop: Loop
  let service: AnalyticsHost
  let page: Published
  before(async () => {
    loop = new Loop(await testHost({ env: pluginSettings({ "page-analytics": { seal_every_ms: 100, deadline_ms: 60_000 } }) }))
    service = new AnalyticsHost(loop.host)
  })
  after(() => loop.host.stop())

  it("are not enabled before a page is published", async () => {
    expect(await service.query("SELECT * FROM events")).to.deep.include({ enabled: false, rows: [] })
  })

  it("count what a browser sent, with its stamped columns, within seconds", async () => {
    page = await loop.publish()
    const { inbound_url } = await loop.pipeline(page)
    const events = [
      { event: "pageview", event_id: eventId() },
      { event: "scroll_milestone", event_id: eventId(), scroll_depth: 50 },
      { event: "web_vital", event_id: eventId(), vital_name: "LCP", vital_value: 2500 },
      { event: "no_such_event", event_id: eventId() },
    ]
    const envelope = { page_url: "https://acme.test/?utm_source=ads" }
    const took = await runningMs(async () => {
      await loop.send(inbound_url, page, { _envelope: envelope, events }, { "user-agent": iphoneInstagram })
      await service.caughtUp()
    })
    expectWithin(5_000, took, "what was committed being in the copy")
    const answer = await service.query("SELECT event, device_type, in_app, is_test, artifact_id FROM events ORDER BY event")
    expect(answer.enabled).to.equal(true)
    expect(answer.rows).to.deep.equal(
      ["pageview", "scroll_milestone", "web_vital"].map((kind) => [kind, "mobile", "instagram", false, page.id]),
    )
    expect(await service.rows("SELECT name, value, rating FROM web_vitals")).to.deep.equal([["LCP", 2_500, "good"]])
    expect(await service.rows("SELECT pageviews, max_scroll, converted FROM sessions")).to.deep.equal([[1, 50, false]])
    const stored = await loop.rows()
    expect((await service.rows("SELECT count(*) FROM events"))[0]).to.deep.equal([stored.length])
  })

  it("have the exact depth of the scrolling, however it came", async () => {
    const scrolled = await loop.publish()
    const { inbound_url } = await loop.pipeline(scrolled)
    const visit = async (bodies: object[]) => {
      const headers = someone()
      for (const body of bodies) expect((await loop.send(inbound_url, scrolled, body, headers)).status).to.equal(200)
    }
    const view = () => event("pageview")
    const milestone = (scroll_depth: number) => event("scroll_milestone", { scroll_depth })
    const repeated = view()
    // Between two milestones, and below the first.
    await visit([{ events: [view(), milestone(25)], depth: 28 }])
    await visit([{ events: [view()], depth: 15 }])
    // Sent on leaving the page, without an event. A repeated batch reverts nothing.
    await visit([
      { events: [repeated], depth: 0 },
      { clicks: [], events: [milestone(50)], depth: 63 },
      { events: [repeated], depth: 5 },
    ])
    // With milestones only, and without any depth.
    await visit([{ events: [view(), milestone(75)] }])
    await visit([{ events: [view()] }])
    await service.caughtUp()
    const where = `WHERE viewed AND artifact_id = '${scrolled.id}'`
    expect(await service.rows(`SELECT scroll_depth, max_scroll FROM sessions ${where} ORDER BY scroll_depth NULLS LAST`)).to.deep.equal([
      [15, 0],
      [28, 25],
      [63, 50],
      [75, 75],
      [null, 0],
    ])
    expect(await service.rows(`SELECT avg(scroll_depth) FROM sessions ${where}`)).to.deep.equal([[45.25]])
    expect(await service.rows(`SELECT count(*) FROM events WHERE event = 'pageview' AND artifact_id = '${scrolled.id}'`)).to.deep.equal([
      [5],
    ])
    await loop.call("PATCH", `/v1/pages/${scrolled.slug}`, { status: "archived" })
  })

  it("are not enabled while no page is published, and again when one is", async () => {
    const enabled = async () => [
      (await service.query("SELECT 1")).enabled,
      (await service.api<{ enabled: boolean }>("GET", "/v1/page-analytics/status")).body.enabled,
    ]
    await loop.call("POST", `/v1/pages/${page.slug}/unpublish`)
    expect(await enabled()).to.deep.equal([false, false])
    const other = await loop.publish()
    expect(await enabled()).to.deep.equal([true, true])
    await loop.call("PATCH", `/v1/pages/${other.slug}`, { status: "archived" })
    expect(await enabled()).to.deep.equal([false, false])
    await loop.call("POST", `/v1/pages/${page.slug}/publish`)
    expect(await enabled()).to.deep.equal([true, true])
  })

  it("are not enabled once every page's pipeline is disabled, and still tell what was", async () => {
    const { slug } = await loop.pipeline(page)
    await loop.call("PUT", `/v1/event-pipelines/${slug}`, { state: "disabled" })
    const answer = await service.query("SELECT count(*) FROM events")
    expect(answer).to.deep.include({ enabled: false, rows: [[11]] })
  })
})
