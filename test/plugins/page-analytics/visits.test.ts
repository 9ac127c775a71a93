// From a browser's batch to an answer in SQL: what page events wrote is what analytics count, and whether they are on.
import { expect } from "chai"
import { testHost } from "#core/testing"
import { runningMs } from "../../slowness.ts"
import { expectWithin } from "../../tier.ts"
import { pluginSettings } from "../buckets/stores.ts"
import { eventId, iphoneInstagram, Loop, type Published } from "../page-events/loop.ts"
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
    expect(answer).to.deep.include({ enabled: false, rows: [[3]] })
  })
})
