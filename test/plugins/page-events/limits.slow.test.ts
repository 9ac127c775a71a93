// Rate limits per address and per organization's pages: refused as a whole, counted in one entry, and sent again later by the
// beacon.
import { expect } from "chai"
import { ShiftedClock } from "../../shifted-clock.ts"
import { untilProcess as until } from "../../waiting.ts"
import { pluginSettings } from "../buckets/stores.ts"
import { Chromium } from "./chromium.ts"
import { event, Loop, someone } from "./loop.ts"

const minute = 60_000

/** So slow that no quota refills while a busy machine sends or a browser starts. */
class SlowClock extends ShiftedClock {
  readonly #wall = Date.now()
  readonly #measured = performance.now()
  readonly #passed = () => (performance.now() - this.#measured) / 20
  override now = () => this.#wall + Math.floor(this.#passed()) + this.ahead
  override monotonic = () => this.#measured + this.#passed() + this.ahead
}

describe("limits on page events", () => {
  const clock = new SlowClock()
  let loop: Loop
  before(async () => {
    const settings = { "page-events": { address_per_minute: 6, organization_per_minute: 9 } }
    loop = await Loop.start({ clock, env: { ...pluginSettings(settings), MILLRACE_TRUST_PROXY: "127.0.0.1" } })
  })
  after(() => loop.host.stop())
  const from = (address: string) => ({ ...someone(), "x-forwarded-for": address })

  it("refuse an address's further requests whole, and say when to come again; others go on", async () => {
    const page = await loop.publish()
    const { inbound_url: url, slug } = await loop.pipeline(page)
    for (let n = 0; n < 6; n++) expect((await loop.send(url, page, event("pageview"), from("203.0.113.7"))).status).to.equal(200)
    const events = [event("pageview"), event("cta_click", { element: "buy" })]
    const body = JSON.stringify({ _envelope: { artifact_id: page.id }, events })
    const origin = "https://acme.test"
    const refused = await fetch(url, { method: "POST", body, headers: { ...from("203.0.113.7"), origin } })
    const answer = (await refused.json()) as { code: string; details: Record<string, unknown> }
    expect([refused.status, answer.code]).to.deep.equal([429, "resource_exhausted"])
    expect(answer.details).to.include({ reason: "rate_limited", quota: "address", limit: 6, window_s: 60 })
    const after = Number(refused.headers.get("retry-after"))
    expect(after).to.be.within(1, 10)
    expect(after).to.equal(answer.details["retry_after_s"])
    expect(refused.headers.get("access-control-expose-headers")).to.equal("x-request-id, retry-after")
    for (const item of events) expect(await loop.rows({ event_id: item.event_id })).to.deep.equal([])
    expect((await loop.send(url, page, event("pageview"), from("203.0.113.8"))).status).to.equal(200)
    const folded = await until(async () => (await loop.executions(slug)).find((entry) => entry["cause"] === "rate_limited"))
    expect(folded).to.include({ status: "rejected", count: 1 })

    clock.ahead += minute
    expect((await loop.send(url, page, { events }, from("203.0.113.7"))).status).to.equal(200)
    for (const item of events) expect(await loop.rows({ event_id: item.event_id })).to.have.length(1)
  })

  it("hold for an organization's pages together, from all addresses", async () => {
    clock.ahead += minute
    const page = await loop.publish()
    const { inbound_url: url } = await loop.pipeline(page)
    const statuses: number[] = []
    for (let n = 0; n < 10; n++) statuses.push((await loop.send(url, page, event("pageview"), from(`198.51.100.${n}`))).status)
    expect(statuses).to.deep.equal([...Array.from({ length: 9 }, () => 200), 429])
  })

  it("count an IPv6 network as one address", async () => {
    clock.ahead += minute
    const page = await loop.publish()
    const { inbound_url: url } = await loop.pipeline(page)
    const statuses: number[] = []
    for (let n = 0; n < 7; n++) statuses.push((await loop.send(url, page, event("pageview"), from(`2001:db8:0:1::${n + 1}`))).status)
    expect(statuses.slice(-1)).to.deep.equal([429])
  })

  it("cost a real visitor nothing: the beacon waits, and sends again what was refused", async () => {
    clock.ahead += minute
    const browser = await Chromium.start()
    try {
      const page = await loop.publish([{ key: "control", html: '<button data-cta="buy">Buy</button>' }])
      const { inbound_url: url } = await loop.pipeline(page)
      for (let n = 0; n < 6; n++) await loop.send(url, page, event("pageview"), someone())
      const { page: tab, context } = await browser.visitor()
      const refused = tab.waitForResponse((response) => response.url() === url && response.status() === 429)
      await tab.goto(loop.host.url + page.path)
      await tab.click("[data-cta=buy]")
      await refused
      const before = new Set((await loop.rows({ artifact_id: page.id })).map((row) => row["session_id"]))
      clock.ahead += minute
      const clicked = await until(async () => (await loop.rows({ artifact_id: page.id, event: "cta_click" }))[0])
      expect(before.has(clicked["session_id"])).to.equal(false)
      const rows = await loop.rows({ session_id: clicked["session_id"] as string })
      expect(rows.filter((row) => row["event"] === "pageview")).to.have.length(1)
      await context.close()
    } finally {
      await browser.stop()
    }
  })
})
