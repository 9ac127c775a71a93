// The beacon on real-world pages: without a doctype, growing while loading, with sections taller than the window, and with
// foreign forms, scripted forms or confusing field names.
import { expect } from "chai"
import { ShiftedClock } from "../../shifted-clock.ts"
import { untilProcess as until } from "../../waiting.ts"
import { Chromium, inRow, type Page, painted } from "./chromium.ts"
import { Loop, type Published, someone } from "./loop.ts"

const hide =
  "Object.defineProperty(document,'visibilityState',{value:'hidden',configurable:true});document.dispatchEvent(new Event('visibilitychange'))"
const marker = '<button type="button" data-cta="marker" style="position:fixed;right:0;bottom:0">Marker</button>'

describe("the beacon on pages as they are", () => {
  const clock = new ShiftedClock()
  let loop: Loop
  let browser: Chromium
  before(async () => {
    loop = await Loop.start({ clock, env: { MILLRACE_JOBS_POLL_MS: "30" } })
    browser = await Chromium.start()
  })
  after(async () => {
    await browser?.stop()
    await loop?.host.stop()
  })

  const publish = (html: string) => loop.publish([{ key: "control", html }])
  const capture = (page: Published) =>
    loop.call("POST", "/v1/event-pipelines", {
      name: `Contact of ${page.slug}`,
      state: "active",
      source_kind: "browser_form",
      auth_mode: "public_artifact",
      owner_artifact_id: page.id,
      pipeline: [{ type: "dataset.write", dataset_slug: "leads", key: "email" }],
    })
  const of = (page: Published, event: string) => loop.rows({ artifact_id: page.id, event })
  const some = (page: Published, event: string) =>
    until(async () => {
      const rows = await of(page, event)
      return rows.length > 0 && rows
    })
  /** Opens the page as a new visitor. Errors of the tab fail the test. */
  const visit = async (page: Published, run: (tab: Page) => Promise<unknown>, query = "") => {
    const { page: tab, context, faults } = await browser.visitor({ userAgent: someone()["user-agent"] })
    await tab.goto(loop.host.url + page.path + query)
    await run(tab)
    await context.close()
    expect(faults).to.deep.equal([])
  }
  /** Waits until all earlier actions are stored. */
  const clickAndRead = async (page: Published, tab: Page) => {
    const before = (await of(page, "cta_click")).filter(({ element }) => element === "marker").length
    await tab.click("[data-cta=marker]")
    await tab.evaluate(hide)
    await until(async () => (await of(page, "cta_click")).filter(({ element }) => element === "marker").length > before)
  }
  /** Resolves when this depth of the page is stored. */
  const depthTold = (tab: Page, depth: number) => {
    const says = (body: string | null) => (JSON.parse(body ?? "{}") as { depth?: number }).depth === depth
    return tab.waitForResponse((response) => response.request().method() === "POST" && says(response.request().postData()))
  }
  const leave = async (tab: Page, last: Promise<unknown>) => {
    await until(() => tab.evaluate<boolean>("document.readyState === 'complete'"))
    await tab.evaluate(hide)
    await last
  }
  const scrollTo = async (tab: Page, y: number) => {
    await tab.evaluate(`new Promise((done) => { addEventListener("scroll", () => setTimeout(done), { once: true }); scrollTo(0, ${y}) })`)
    await painted(tab)
  }
  const milestones = async (page: Published) =>
    (await of(page, "scroll_milestone")).map((row) => Number(row["scroll_depth"])).sort((left, right) => left - right)

  it("measures scrolling where there is no doctype", async () => {
    const page = await publish(`<body style="margin:0"><div style="height:2700px">Tall</div>${marker}`)
    await visit(page, async (tab) => {
      expect(await tab.evaluate("document.compatMode")).to.equal("BackCompat")
      await scrollTo(tab, 400)
      await scrollTo(tab, 1_100)
      await clickAndRead(page, tab)
    })
    expect(await milestones(page)).to.deep.equal([25, 50])
  })

  it("says who bailed, on pages without a doctype and on pages that grow, but not where all was to be seen at once", async () => {
    const small = await publish("<!doctype html><h1>All of it</h1>")
    const growing = await publish("<!doctype html><h1>Soon more</h1>")
    const quirky = await publish('<div style="height:2700px">Tall</div>')
    await visit(small, (tab) => leave(tab, depthTold(tab, 100)))
    await visit(growing, async (tab) => {
      await some(growing, "pageview")
      await tab.evaluate("document.body.style.height = '4000px'")
      const last = depthTold(tab, 3)
      await scrollTo(tab, 100)
      await leave(tab, last)
    })
    await visit(quirky, async (tab) => {
      const last = depthTold(tab, 2)
      await scrollTo(tab, 40)
      await leave(tab, last)
    })
    clock.ahead += 31 * 60_000
    expect((await some(quirky, "scroll_bail"))[0]).to.include({ max_scroll_depth: 2 })
    expect((await some(growing, "scroll_bail"))[0]).to.include({ max_scroll_depth: 3 })
    expect(await of(small, "scroll_bail")).to.deep.equal([])
    for (const page of [quirky, growing, small]) expect(await milestones(page)).to.deep.equal([])
  })

  it("sees sections however tall, when a fifth of them or half of the window is theirs", async () => {
    const sections = ["first", "tallest", "last"].map(
      (id) => `<section id="${id}" style="height:${id === "tallest" ? 60_000 : 1_000}px"></section>`,
    )
    const page = await publish(`<!doctype html><body style="margin:0"><div style="height:600px"></div>${sections.join("")}${marker}`)
    const sectionsSeen = async () => (await of(page, "section_view")).map((row) => row["section"]).sort()
    await visit(page, async (tab) => {
      await clickAndRead(page, tab)
      expect(await sectionsSeen(), "100 of 1,000 px").to.deep.equal([])
      await scrollTo(tab, 1_200)
      await clickAndRead(page, tab)
      expect(await sectionsSeen(), "300 of 700 px").to.deep.equal(["first"])
      await scrollTo(tab, 1_450)
      await clickAndRead(page, tab)
      expect(await sectionsSeen(), "550 of 700 px").to.deep.equal(["first", "tallest"])
    })
  })

  it("counts what is done to a label once, though the browser clicks its field as well", async () => {
    const page = await publish(
      `<!doctype html><label id="around"><input type="checkbox"> Around</label><p style="margin:100px 0"><input id="news" type="checkbox"><label id="beside" for="news">Beside</label></p>${marker}`,
    )
    const clicks: string[] = []
    await visit(page, async (tab) => {
      tab.on("request", (request) => {
        if (request.method() !== "POST") return
        const { clicks: clickPositions } = JSON.parse(request.postData() ?? "{}") as { clicks: [number, number, number, string][] }
        clicks.push(...clickPositions.map(([, , , element]) => element))
      })
      for (const label of ["#around", "#beside"]) await tab.click(label, { position: { x: 40, y: 5 }, clickCount: 2, delay: 20 })
      await clickAndRead(page, tab)
      expect(clicks).to.deep.equal(["around", "around", "beside", "beside"])
      expect(await of(page, "rage_click")).to.deep.equal([])
      expect(await tab.isChecked("#news")).to.equal(false)
      await inRow(tab, () => tab.click("#news", { clickCount: 3, delay: 20 }))
      await clickAndRead(page, tab)
    })
    expect(clicks.slice(4)).to.deep.equal(["news", "news", "news"])
    expect((await of(page, "rage_click")).map(({ element }) => element)).to.deep.equal(["news"])
  })

  const form = (id: string, attributes = "") =>
    `<form id="${id}" ${attributes}><input name="email" value="a@b.example"><button>Send ${id}</button></form>`
  const kinds = {
    ignored: form("ignored", 'data-mr-ignore method="post"'),
    elsewhere: form("elsewhere", 'method="post" action="/elsewhere"'),
    asking: form("asking", 'method="get"'),
    closing: form("closing", 'method="dialog"'),
    cancelled: form("cancelled"),
    late: form("late"),
    other: `<form id="other"><input name="email"><button formaction="/elsewhere">Send</button></form>`,
    own: form("own"),
    quiet: form("quiet", 'action="#done"'),
    named: `<form id="named"><input name="id"><input name="name"><input name="action"><input name="method"><input name="email" value="a@b.example"><button>Send</button></form>`,
  }

  it("begins only forms that belong to the page, with any names of fields; a lead is what the service kept", async () => {
    const cancelling = `<script>
      document.getElementById("cancelled").addEventListener("submit", (event) => event.preventDefault() || event.stopPropagation())
      document.getElementById("quiet").addEventListener("submit", (event) => event.stopPropagation())
      addEventListener("load", () => addEventListener("submit", (event) => event.target.id === "late" && event.preventDefault()))
    </script>`
    const page = await publish(`<!doctype html>${Object.values(kinds).join("")}${marker}${cancelling}`)
    await capture(page)
    await visit(page, async (tab) => {
      // Form submissions leave the page open.
      await tab.route(
        (url) => !url.pathname.startsWith("/v1/"),
        (route) => route.fetch({ maxRedirects: 0 }).then(() => route.fulfill({ status: 204 })),
      )
      for (const kind of Object.keys(kinds)) {
        await tab.locator(`#${kind} input:not([type=hidden])`).last().fill("a@b.example")
        await tab.click(`#${kind} button`)
      }
      await clickAndRead(page, tab)
    })
    const leads = async () => (await of(page, "lead")).map((row) => row["form"]).sort()
    // The nameless form is the excluded one: it sends no events, but was still submitted to the page.
    expect(await until(async () => (await leads()).length >= 4 && leads())).to.deep.equal(["", "named", "own", "quiet"])
    const started = (await of(page, "form_start")).map((row) => row["form"]).sort()
    expect(started, "the forms that are the page's").to.deep.equal(["cancelled", "late", "named", "other", "own", "quiet"])
  })

  it("says that a form was left which was begun and never sent, also where another was", async () => {
    const page = await publish(
      `<!doctype html>${kinds.ignored}${kinds.elsewhere}${kinds.cancelled}${marker}<script>document.getElementById("cancelled").onsubmit = () => false</script>`,
    )
    await capture(page)
    await visit(page, async (tab) => {
      await tab.route("**/elsewhere", (route) => route.fulfill({ status: 204 }))
      for (const kind of ["elsewhere", "cancelled"]) {
        await tab.locator(`#${kind} input:not([type=hidden])`).last().fill("a@b.example")
        await tab.click(`#${kind} button`)
      }
      await clickAndRead(page, tab)
    })
    expect(await of(page, "lead")).to.deep.equal([])
    clock.ahead += 31 * 60_000
    const abandonment = await some(page, "form_abandon")
    expect(abandonment.map(({ form, fields_touched }) => [form, fields_touched])).to.deep.equal([["cancelled", "email"]])
  })

  it("tells of no scrolling that the browser did to show the answer, and of all that the visitor does then", async () => {
    const page = await publish(
      `<!doctype html><body style="margin:0"><section id="top" style="height:600px">${kinds.own}</section><div style="height:2000px"></div><section id="answer" style="height:1000px"><p id="thank-you" style="margin:0">Thank you!</p></section><div style="height:3000px"></div>${marker}`,
    )
    await capture(page)
    const sections = async () => (await of(page, "section_view")).map((row) => row["section"]).sort()
    await visit(page, async (tab) => {
      await clickAndRead(page, tab)
      expect(await sections()).to.deep.equal(["top"])
      await tab.click("#own button")
      await tab.waitForURL(/#thank-you$/)
      expect(await until(async () => (await tab.evaluate<number>("scrollY")) || undefined), "where the browser went").to.equal(2_600)
      await clickAndRead(page, tab)
      expect([await milestones(page), await sections()]).to.deep.equal([[], ["top"]])
      await tab.mouse.wheel(0, 50)
      await until(async () => (await tab.evaluate<number>("scrollY")) > 2_600)
      await until(async () => (await sections()).length > 1)
      await tab.mouse.wheel(0, 10_000)
      await until(() => tab.evaluate<boolean>("scrollY + innerHeight >= document.documentElement.scrollHeight"))
      await painted(tab)
      await clickAndRead(page, tab)
    })
    expect([await milestones(page), await sections()]).to.deep.equal([
      [50, 75, 90, 100],
      ["answer", "top"],
    ])
  })

  it("takes the answer to the page's own form for no new view, and keeps where the visitor came from", async () => {
    const page = await publish(`<!doctype html>${kinds.own}<p id="thank-you">Thank you!</p>${marker}`)
    await capture(page)
    const views = async () => (await of(page, "pageview")).length
    const sending = async (tab: Page) => {
      await tab.click("#own button")
      await tab.waitForURL(/#thank-you$/)
      await clickAndRead(page, tab)
      expect(await views()).to.equal(1)
      await tab.reload()
      await clickAndRead(page, tab)
      expect(await views(), "the answer, shown again").to.equal(1)
      await tab.goto(loop.host.url + page.path)
      await until(async () => (await views()) === 2)
    }
    await visit(page, sending, "?utm_source=letter&utm_campaign=spring")
    expect(await of(page, "lead")).to.have.length(1)
    const rows = await loop.rows({ artifact_id: page.id })
    for (const row of rows) expect(row).to.include({ utm_source: "letter", utm_campaign: "spring", utm_medium: "" })
    expect(new Set(rows.map((row) => row["session_id"]))).to.have.property("size", 1)
    await visit(page, () => until(async () => (await views()) === 3), "#thank-you")
    expect((await of(page, "pageview")).map((row) => row["utm_source"]).sort()).to.deep.equal(["", "letter", "letter"])
  })
})
