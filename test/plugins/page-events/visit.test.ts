// The whole loop in a real browser: every kind of event by its action, the derived friction, a lead with and without scripts, and
// the team's live updates.
import { expect } from "chai"
import { io, type Socket } from "socket.io-client"
import { ShiftedClock } from "../../shifted-clock.ts"
import { until } from "../../waiting.ts"
import { Chromium, inRow, painted } from "./chromium.ts"
import { iphoneInstagram, Loop, type Published } from "./loop.ts"

const body = (
  title: string,
) => `<!doctype html><html><head><title>${title}</title><style>section{height:900px}#thank-you{display:none}#thank-you:target{display:block}</style></head><body>
<h1>${title}</h1><div id="dead" style="height:100px">Not a button</div>
<section id="offer"><button data-cta="book-demo">Book</button></section>
<section data-section="proof">Proof</section>
<section id="last"><video id="film" src="data:video/mp4;base64,AAAA"></video>
<form id="contact"><label>Email<input name="email" type="email" required></label><input name="name"><button type="submit">Send</button></form></section>
<p id="thank-you">Thank you!</p></body></html>`

describe("visits in a real browser", () => {
  let loop: Loop
  let browser: Chromium
  let page: Published
  const clock = new ShiftedClock()
  let socket: Socket
  const messages: { channel: string; data: Record<string, unknown> }[] = []

  before(async () => {
    loop = await Loop.start({ clock, env: { MILLRACE_JOBS_POLL_MS: "50" } })
    browser = await Chromium.start()
    page = await loop.publish([
      { key: "control", html: body("Control"), weight: 1 },
      { key: "bold", html: body("Bold"), weight: 1 },
    ])
    await loop.call("POST", "/v1/event-pipelines", {
      name: "Contact",
      state: "active",
      source_kind: "browser_form",
      auth_mode: "public_artifact",
      owner_artifact_id: page.id,
      pipeline: [
        { id: "save", type: "dataset.write", dataset_slug: "leads", key: "email" },
        { type: "live.broadcast", channel: "leads" },
      ],
    })
    socket = io(loop.host.url, { path: "/live", transports: ["websocket"], auth: { token: loop.host.adminKey } })
    socket.on("message", (message: (typeof messages)[number]) => messages.push(message))
    for (const channel of ["datasets:page-events", "leads"]) await socket.emitWithAck("subscribe", { channel })
  })
  after(async () => {
    socket?.close()
    await browser?.stop()
    await loop?.host.stop()
  })
  const kinds = async (session: unknown) => (await loop.rows({ session_id: session as string })).map((row) => row["event"])
  const only = async (event: string) => (await loop.rows({ event })).filter((row) => row["artifact_id"] === page.id)

  it("tells every kind of event, and the friction that follows, of someone who clicks in rage and leaves a form", async () => {
    const { page: tab, context, faults } = await browser.visitor()
    const refused: string[] = []
    tab.on("response", (answer) => {
      // Requests answered 429 or 5xx are repeated.
      const isRefused = answer.status() >= 400 && answer.status() < 429
      if (isRefused && answer.url().includes("/v1/inbound/"))
        refused.push(`${answer.status()} to ${answer.request().headers()["user-agent"]}`)
    })
    await tab.goto(`${loop.host.url}${page.path}?utm_source=letter&utm_campaign=spring&gclid=abc`)
    const title = await tab.textContent("h1")
    await inRow(tab, async () => {
      for (let n = 0; n < 5; n++) await tab.mouse.click(300, 100 + n)
    })
    await tab.click("[data-cta=book-demo]")
    await tab.evaluate("document.querySelector('video').dispatchEvent(new Event('play'))")
    for (const y of [500, 1_000, 1_600, 5_000]) {
      await tab.evaluate(`scrollTo(0, ${y})`)
      await painted(tab)
    }
    await tab.fill("[name=email]", "someone-typed@example.com")
    await tab.fill("[name=name]", "Typed Name")
    const [first] = await until(async () => {
      const rows = await only("pageview")
      return rows.length > 0 && rows
    })
    expect(first).to.deep.include({
      utm_source: "letter",
      utm_campaign: "spring",
      click_id: "abc",
      click_id_type: "gclid",
      variant: title?.toLowerCase(),
      page_url: loop.host.url + page.path,
      device_type: "desktop",
      browser: "chrome",
      in_app: "",
      language: "de",
      is_test: false,
    })
    await tab.evaluate(
      "Object.defineProperty(document,'visibilityState',{value:'hidden'});document.dispatchEvent(new Event('visibilitychange'))",
    )
    const session = first?.["session_id"]
    const expectedKinds = [
      "pageview",
      "scroll_milestone",
      "section_view",
      "cta_click",
      "form_start",
      "video_play",
      "rage_click",
      "web_vital",
    ]
    const depths = async () =>
      (await loop.rows({ session_id: session as string, event: "scroll_milestone" })).map((row) => row["scroll_depth"])
    await until("every kind of event, and all of the scrolling", async () => {
      const kindsSeen = await kinds(session)
      return expectedKinds.every((kind) => kindsSeen.includes(kind)) && (await depths()).includes(100)
    })
    await until("the whole burst of clicks", async () => {
      expect(refused).to.deep.equal([])
      return (await only("rage_click"))[0]?.["click_count"] === 5
    })
    await context.close()
    const rows = await loop.rows({ session_id: session as string })
    const of = (kind: string) => rows.filter((row) => row["event"] === kind)
    expect(
      of("scroll_milestone")
        .map((row) => row["scroll_depth"])
        .sort((a, b) => Number(a) - Number(b)),
    ).to.deep.equal([25, 50, 75, 90, 100])
    expect(
      of("section_view")
        .map((row) => row["section"])
        .sort(),
    ).to.deep.equal(["last", "offer", "proof"])
    expect(of("cta_click").map((row) => row["element"])).to.include("book-demo")
    expect(of("form_start")).to.have.length(1)
    expect(of("form_start")[0]).to.deep.include({ form: "contact", field: "email" })
    expect(of("video_play")[0]).to.deep.include({ video: "film" })
    expect(of("rage_click")).to.have.length(1)
    expect(of("rage_click")[0]).to.deep.include({ element: "dead", click_count: 5, event_id: `${session as string}:rage_click:1` })
    // The measured vitals and their values depend on the machine.
    const vitals = of("web_vital")
    expect(vitals.map((row) => row["vital_name"])).to.include("CLS")
    for (const { vital_rating } of vitals) expect(vital_rating).to.be.oneOf(["good", "needs-improvement", "poor"])
    expect(faults).to.deep.equal([])
    expect(await only("form_abandon")).to.deep.equal([])

    clock.ahead += 31 * 60_000
    const [abandoned] = await until(async () => {
      const matches = await only("form_abandon")
      return matches.length > 0 && matches
    })
    expect(abandoned).to.deep.include({ form: "contact", field_count: 2, fields_touched: "email,name", session_id: session })
    expect(await only("scroll_bail")).to.deep.equal([])
    expect(JSON.stringify(await loop.rows()))
      .not.to.include("someone-typed")
      .and.not.to.include("Typed Name")
    const live = () => messages.filter(({ channel }) => channel === "datasets:page-events").map(({ data }) => data["event"])
    await until(() => ["pageview", "rage_click", "form_abandon"].every((kind) => live().includes(kind)))
  })

  it("keeps the lead of someone who sends the form, stamped, and shows the thank-you", async () => {
    const { page: tab, context, faults } = await browser.visitor({ userAgent: iphoneInstagram })
    const requests: string[] = []
    tab.on("request", (request) => requests.push(new URL(request.url()).pathname))
    await tab.goto(`${loop.host.url}${page.path}`)
    const title = await tab.textContent("h1")
    await tab.fill("[name=email]", "ada@example.com")
    await tab.fill("[name=name]", "Ada")
    await tab.click("button[type=submit]")
    await tab.waitForSelector("#thank-you", { state: "visible" })
    expect(new URL(tab.url()).hash).to.equal("#thank-you")
    const [lead] = await until(async () => {
      const { rows } = await loop.call<{ rows: { values: Record<string, unknown> }[] }>("GET", "/v1/datasets/leads/rows")
      return rows.length > 0 && rows
    })
    expect(lead?.values).to.deep.include({
      email: "ada@example.com",
      name: "Ada",
      artifact_id: page.id,
      variant: title?.toLowerCase(),
      page_url: loop.host.url + page.path,
      device_type: "mobile",
      in_app: "instagram",
      language: "de",
      is_test: false,
    })
    const [report] = await until(async () => {
      const rows = await only("lead")
      return rows.length > 0 && rows
    })
    expect(report).to.deep.include({ form: "contact", in_app: "instagram" })
    // The answer to the form is not a view and measures nothing: otherwise a visit with a lead would count twice.
    await tab.evaluate("dispatchEvent(new PageTransitionEvent('pagehide'))")
    const measured = (await loop.rows({ session_id: String(report?.["session_id"]), event: "web_vital" })).map((row) => row["vital_name"])
    expect(measured.sort()).to.deep.equal([...new Set(measured)].sort())
    expect(
      requests.filter((path) => path.startsWith("/v1/beacon-vitals.js")),
      "by the page, and not by its answer",
    ).to.have.length(1)
    await until(() => messages.some(({ channel, data }) => channel === "leads" && data["email"] === "ada@example.com"))
    await context.close()
    expect(faults).to.deep.equal([])
  })

  it("takes the form without scripts as well, and tells of a refusal in words", async () => {
    const { page: tab, context } = await browser.visitor({ javaScriptEnabled: false })
    const before = (await loop.rows({ event: "lead" })).map((row) => row["session_id"])
    await tab.goto(loop.host.url + page.path)
    await tab.fill("[name=email]", "plain@example.com")
    await tab.click("button[type=submit]")
    await tab.waitForURL(/#thank-you$/)
    const { rows } = await loop.call<{ rows: { values: Record<string, unknown> }[] }>("GET", "/v1/datasets/leads/rows")
    expect(rows.map(({ values }) => values["email"])).to.include("plain@example.com")
    await context.close()
    const sessionIds = (await loop.rows({ event: "lead" })).map((row) => row["session_id"]).filter((session) => !before.includes(session))
    expect(sessionIds).to.have.length(1)
    expect(await kinds(sessionIds[0]), "the lead that was kept, and nothing else").to.deep.equal(["lead"])
  })

  it("says of someone who looks and goes that they bailed", async () => {
    const { page: tab, context } = await browser.visitor({ userAgent: iphoneInstagram.replace("18_1", "17_5") })
    const before = (await only("pageview")).length
    await tab.goto(loop.host.url + page.path)
    await until(async () => (await only("pageview")).length > before)
    await context.close()
    clock.ahead += 31 * 60_000
    const [bailed] = await until(async () => {
      const matches = await only("scroll_bail")
      return matches.length > 0 && matches
    })
    expect(bailed).to.deep.include({ max_scroll_depth: 0, device_type: "mobile" })
  })

  it("gives a page no way to cookies of its own or of anybody else", async () => {
    const { page: tab, context } = await browser.visitor()
    await context.addCookies([{ name: "console", value: "secret", url: loop.host.url }])
    await tab.goto(loop.host.url + page.path)
    const look = (script: string) => tab.evaluate(`(() => { try { return String(${script}) } catch (error) { return error.name } })()`)
    expect(await look("document.cookie")).to.equal("SecurityError")
    expect(await look("localStorage.length")).to.equal("SecurityError")
    expect(await look("self.origin")).to.equal("null")
    await context.close()
  })

  it("counts no headless browser, by its own agent", async () => {
    const bot = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/140.0.0.0 Safari/537.36"
    const { page: tab, context } = await browser.visitor({ userAgent: bot })
    const message = tab.waitForResponse((response) => response.url().includes("/v1/inbound/"))
    // A separate campaign: events of earlier visitors may still be in flight.
    await tab.goto(`${loop.host.url}${page.path}?utm_source=headless`)
    expect((await message).status()).to.equal(403)
    await context.close()
    expect(await loop.rows({ utm_source: "headless" })).to.deep.equal([])
    const { slug } = await loop.pipeline(page)
    const [folded] = await until(async () => {
      const matches = (await loop.executions(slug)).filter(({ cause }) => cause === "bot")
      return matches.length > 0 && matches
    })
    expect(folded).to.include({ status: "rejected" })
  })
})
