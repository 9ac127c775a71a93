// The beacon in a real browser under difficult conditions: failing requests, a visitor with tracking refused, and a page that
// breaks its dependencies.
import { expect } from "chai"
import { until } from "../../waiting.ts"
import { pluginSettings } from "../buckets/stores.ts"
import { Chromium, type Page } from "./chromium.ts"
import { Loop, type Published } from "./loop.ts"

describe("the beacon in a browser", () => {
  let loop: Loop
  let browser: Chromium
  let page: Published
  before(async () => {
    loop = await Loop.start({ env: pluginSettings({ pages: { honour_gpc: true } }) })
    browser = await Chromium.start()
  })
  beforeEach(async () => {
    page = await loop.publish([{ key: "control", html: '<section id="offer"><button data-cta="buy">Buy</button></section>' }])
  })
  after(async () => {
    await browser?.stop()
    await loop?.host.stop()
  })
  const whenStored = (event: string) => until(async () => (await loop.rows({ artifact_id: page.id, event }))[0])
  const hidden = "Object.defineProperty(document,'visibilityState',{value:'hidden'});document.dispatchEvent(new Event('visibilitychange'))"
  /** Visits the page after running this script in it. */
  const visit = async (prepared: string, run: (tab: Page) => Promise<unknown>) => {
    const { page: tab, context, faults } = await browser.visitor()
    await context.addInitScript(prepared)
    await tab.goto(loop.host.url + page.path)
    await run(tab)
    await context.close()
    expect(faults).to.deep.equal([])
  }

  it("sends by sendBeacon what fetch failed to, or threw at, when the page is left", async () => {
    for (const fails of ["Promise.reject(new Error('offline'))", "(() => { throw new TypeError('too large') })()"]) {
      page = await loop.publish()
      await visit(`globalThis.fetch = () => (globalThis.failed = true, ${fails})`, async (tab) => {
        await until(() => tab.evaluate<boolean>("globalThis.failed"))
        await tab.evaluate(hidden)
        await whenStored("pageview")
      })
    }
  })

  it("sends what it has the moment that the page is hidden", async () => {
    await visit("", async (tab) => {
      await whenStored("pageview")
      const collected = tab.waitForRequest((request) => request.method() === "POST" && (request.postData() ?? "").includes("cta_click"))
      await tab.click("[data-cta=buy]")
      await tab.evaluate(hidden)
      await collected
      await whenStored("cta_click")
    })
  })

  it("tells nothing of who asks not to be followed, by the browser's own word", async () => {
    const requests: string[] = []
    await visit("Object.defineProperty(navigator, 'globalPrivacyControl', { value: true })", async (tab) => {
      tab.on("request", (request) => requests.push(request.url()))
      await tab.click("[data-cta=buy]")
      await tab.evaluate(hidden)
      await tab.waitForTimeout(1_500)
    })
    expect(requests).to.deep.equal([])
    expect(await loop.rows({ artifact_id: page.id })).to.deep.equal([])
  })

  for (const [what, broken] of [
    ["random numbers", "crypto.getRandomValues = () => { throw new Error('broken') }"],
    ["the observer of sections", "globalThis.IntersectionObserver = function () { throw new Error('broken') }"],
    [
      "JSON",
      "const parse = JSON.parse; JSON.parse = (text) => { if (text.includes('artifact_id')) throw new Error('broken'); return parse(text) }",
    ],
  ] as const) {
    it(`throws nothing into a page that broke ${what}`, async () => {
      await visit(broken, async (tab) => {
        await tab.click("[data-cta=buy]")
        await tab.evaluate(hidden)
      })
    })
  }

  it("is served and tells as for anybody where Global Privacy Control does not count", async () => {
    const deaf = await Loop.start({ env: pluginSettings({ pages: { honour_gpc: false } }) })
    try {
      const published = await deaf.publish()
      const { page: tab, context } = await browser.visitor({ extraHTTPHeaders: { "sec-gpc": "1" } })
      await context.addInitScript("Object.defineProperty(navigator, 'globalPrivacyControl', { value: true })")
      await tab.goto(deaf.host.url + published.path)
      await until(async () => (await deaf.rows({ artifact_id: published.id, event: "pageview" }))[0])
      await context.close()
    } finally {
      await deaf.host.stop()
    }
  })
})
