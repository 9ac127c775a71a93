// The beacon with failing requests, and on pages with scripted, absent or unusual activity. One visit per case with many
// assertions: a browser costs seconds.
import { expect } from "chai"
import { ShiftedClock } from "../../shifted-clock.ts"
import { untilProcess as until } from "../../waiting.ts"
import { Chromium, inRow, type Page, painted } from "./chromium.ts"
import { desktopChrome, Loop, type Published } from "./loop.ts"

const hidden =
  "Object.defineProperty(document,'visibilityState',{value:'hidden',configurable:true});document.dispatchEvent(new Event('visibilitychange'))"
const script =
  "Object.defineProperty(document,'visibilityState',{value:'visible',configurable:true});document.dispatchEvent(new Event('visibilitychange'))"
const inboundPath = /\/v1\/inbound\//

describe("the beacon on a bad network, and on pages that do things by themselves", () => {
  const clock = new ShiftedClock()
  let loop: Loop
  let browser: Chromium
  before(async () => {
    loop = await Loop.start({ clock, env: { MILLRACE_JOBS_POLL_MS: "50" } })
    browser = await Chromium.start()
  })
  after(async () => {
    await browser?.stop()
    await loop?.host.stop()
  })

  const publish = async (html: string, more: object = {}) => {
    const page = await loop.publish([{ key: "control", html: `<!doctype html><body style="margin:0">${html}` }])
    if (Object.keys(more).length > 0) await loop.call("PATCH", `/v1/pages/${page.slug}`, more)
    return page
  }
  const of = async (page: Published, event: string) => loop.rows({ artifact_id: page.id, event })
  const kinds = async (page: Published) =>
    (await loop.rows({ artifact_id: page.id })).map((row) => String(row["event"])).filter((kind) => kind !== "web_vital")
  let visitors = 0
  const open = async (prepared = "") => {
    const visitor = await browser.visitor({ userAgent: `${desktopChrome} Network/${++visitors}` })
    if (prepared) await visitor.context.addInitScript(prepared)
    return visitor
  }
  /** Clicks a marker button last, so all earlier actions are stored. */
  const reportVisit = async (page: Published, tab: Page) => {
    const marks = async () => (await of(page, "cta_click")).filter(({ element }) => element === "marker").length
    const before = await marks()
    await tab.click("[data-cta=marker]")
    await tab.evaluate(hidden)
    await until(async () => (await marks()) > before)
    await tab.evaluate(script)
  }
  const marker = '<button type="button" data-cta="marker" style="position:fixed;right:0;bottom:0">Marker</button>'

  it("keeps every event over failures of every kind, and has none twice", async () => {
    const page = await publish(
      `<form id="contact"><input name="email"></form><button data-cta="one">1</button><button data-cta="two">2</button><div style="height:3000px"></div>${marker}`,
    )
    const { page: tab, context } = await open()
    const failures = ["502", "reset", "500", "lost"]
    let failing = true
    const failed: string[] = []
    await tab.route(inboundPath, async (route) => {
      const kind = failing ? (failures[failed.length % failures.length] ?? "502") : undefined
      if (kind === undefined) return route.continue()
      failed.push(kind)
      if (kind === "reset") return route.abort("connectionreset")
      // The service received it, but its answer was lost.
      if (kind === "lost") await route.fetch()
      return kind === "lost" ? route.abort("connectionreset") : route.fulfill({ status: Number(kind), body: "" })
    })
    await tab.goto(loop.host.url + page.path)
    await tab.click("[data-cta=one]")
    await tab.fill("[name=email]", "a@b.example")
    await inRow(tab, async () => {
      for (let n = 0; n < 3; n++) await tab.mouse.click(500, 300)
    })
    // Each time the page is hidden is a try.
    for (let n = 1; n <= failures.length; n++) {
      await tab.evaluate(hidden)
      await until(() => failed.length >= n)
      await tab.evaluate(script)
    }
    await tab.click("[data-cta=two]")
    await tab.mouse.wheel(0, 10_000)
    await until(() => tab.evaluate<boolean>("scrollY + innerHeight >= document.documentElement.scrollHeight"))
    failing = false
    // Back online: sent at once, in spite of the planned delay.
    await tab.evaluate("dispatchEvent(new Event('online'))")
    const depths = async () => (await of(page, "scroll_milestone")).map((row) => row["scroll_depth"])
    await until("all of the scrolling", async () => (await depths()).includes(100))
    const events = await kinds(page)
    const count = (kind: string) => events.filter((event) => event === kind).length
    expect([count("pageview"), count("cta_click"), count("form_start"), count("rage_click")]).to.deep.equal([1, 2, 1, 1])
    expect(await depths()).to.include.members([25, 50, 75, 90, 100])
    await context.close()
    const rows = await loop.rows({ artifact_id: page.id })
    expect(new Set(rows.map((row) => row["session_id"]))).to.have.property("size", 1)
    clock.ahead += 31 * 60_000
    const [abandonment] = await until(async () => {
      const matches = await of(page, "form_abandon")
      return matches.length > 0 && matches
    })
    expect(abandonment).to.include({ fields_touched: "email" })
    expect(await of(page, "scroll_bail")).to.deep.equal([])
  })

  it("counts nothing that scripts do, that has the focus alone, or that nobody looked at", async () => {
    const page = await publish(
      `<form id="contact"><input name="email" autofocus></form><button data-cta="next">Next</button><p id="text">Words to select</p>
      <div>${[1, 2, 3].map((n) => `<input type="checkbox" id="box${n}" style="margin:2px">`).join("")}</div>
      <video id="film" muted autoplay></video>${marker}
      <script>setInterval(() => document.querySelector("[data-cta=next]").click(), 100)
      addEventListener("load", () => { document.querySelector("[name=email]").focus(); document.querySelector("video").dispatchEvent(new Event("play")) })</script>`,
    )
    const { page: tab, context } = await open()
    await tab.goto(loop.host.url + page.path)
    await tab.click("#text", { clickCount: 3, delay: 10 })
    for (const n of [1, 2, 3]) await tab.click(`#box${n}`)
    await until(async () => (await kinds(page)).includes("video_play"))
    await reportVisit(page, tab)
    expect((await kinds(page)).sort()).to.deep.equal(["cta_click", "pageview", "video_play"])
    expect((await of(page, "video_play"))[0]).to.include({ video: "film", autoplay: true })
    await context.close()

    const unseen = await publish(`<h1>Behind</h1>${marker}`)
    const behind = await open("Object.defineProperty(document,'visibilityState',{value:'hidden',configurable:true})")
    const requests: string[] = []
    behind.page.on("request", (request) => inboundPath.test(request.url()) && requests.push(request.url()))
    await behind.page.goto(loop.host.url + unseen.path)
    await behind.page.evaluate("dispatchEvent(new PageTransitionEvent('pagehide'))")
    expect(requests).to.deep.equal([])
    await behind.page.evaluate(script)
    await reportVisit(unseen, behind.page)
    expect(await kinds(unseen)).to.include("pageview")
    await behind.context.close()
  })

  it("sees what scrolls inside of a page, sections that come later, and the views of a page that has several", async () => {
    const inner = await publish(
      `<style>body{overflow:hidden;height:100vh}main{height:100vh;overflow:auto}</style><main><section id="first" style="height:2000px"></section></main>${marker}
      <script>setTimeout(() => document.querySelector("main").insertAdjacentHTML("beforeend", '<section id="late" style="height:2000px"></section>'), 300)</script>`,
    )
    const { page: tab, context } = await open()
    await tab.goto(loop.host.url + inner.path)
    await tab.waitForSelector("#late", { state: "attached" })
    await tab.mouse.move(300, 300)
    await until(async () => {
      await tab.mouse.wheel(0, 5_000)
      return (await of(inner, "section_view")).some(({ section }) => section === "late")
    })
    await until(() =>
      tab.evaluate<boolean>(
        "(({ scrollTop, clientHeight, scrollHeight }) => scrollTop + clientHeight >= scrollHeight)(document.querySelector('main'))",
      ),
    )
    await painted(tab)
    await reportVisit(inner, tab)
    expect((await of(inner, "scroll_milestone")).map((row) => row["scroll_depth"]).sort()).to.deep.equal([100, 25, 50, 75, 90])

    const views = await publish(
      `<a href="#/pricing" data-cta="pricing">Pricing</a><button id="push" onclick="history.pushState({}, '')">Push</button><section id="top" style="height:200px"></section>${marker}`,
      { single_page: true },
    )
    await tab.goto(loop.host.url + views.path)
    await until(async () => (await of(views, "section_view")).length === 1)
    await tab.click("[data-cta=pricing]")
    await painted(tab)
    await tab.click("#push")
    await until(async () => (await of(views, "pageview")).length === 3 && (await of(views, "section_view")).length === 3)
    expect((await of(views, "pageview")).map(({ view }) => view).sort()).to.deep.equal(["", "pricing", "pricing"])

    // Saved from a browser and published again: the second tag sends nothing.
    const saved = (await tab.content()).replace(/^<!doctype html>/i, "")
    const copy = await publish(saved)
    const before = (await of(views, "pageview")).length
    await tab.goto(loop.host.url + copy.path)
    await reportVisit(copy, tab)
    expect([(await of(copy, "pageview")).length, (await of(views, "pageview")).length]).to.deep.equal([1, before])
    await context.close()
  })
})
