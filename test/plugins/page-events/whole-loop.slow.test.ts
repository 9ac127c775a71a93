// A team's whole loop from end to end, with people played in a real browser. One looks around, clicks in rage, starts a form and
// leaves; one sends the lead; one only looks. Then the team's reads: the rows, derived rows, the lead, answers in SQL, the live
// updates, and a picture of the page.
import { expect } from "chai"
import { io, type Socket } from "socket.io-client"
import { browserFolder } from "../../chromium.ts"
import { ShiftedClock } from "../../shifted-clock.ts"
import { untilProcess as until } from "../../waiting.ts"
import { pluginSettings } from "../buckets/stores.ts"
import { pictureOf, take } from "../screenshots/taking.ts"
import { Chromium, inRow } from "./chromium.ts"
import { iphoneInstagram, Loop, type Published } from "./loop.ts"

type Values = Record<string, unknown>

const colours = { control: [17, 68, 204], bold: [204, 34, 17] } as const
const page = (variant: keyof typeof colours) => `<!doctype html><html><head><title>${variant}</title>
<style>body{margin:0;font:20px sans-serif}header{background:rgb(${colours[variant].join(",")});color:#fff;height:200px}h1{margin:0;padding:20px}
section{height:900px}#thank-you{display:none}#thank-you:target{display:block}</style></head><body>
<header><h1>${variant}</h1></header><div id="picture" style="height:100px;background:#eee">Not a button</div>
<section id="offer"><button data-cta="book-demo">Book</button></section>
<section id="contact-us"><form id="contact"><input name="email" type="email" required><input name="name"><button>Send</button></form></section>
<p id="thank-you">Thank you!</p></body></html>`

describe("the whole loop", function () {
  this.timeout(900_000)
  const clock = new ShiftedClock()
  const messages: { channel: string; data: Values }[] = []
  let loop: Loop
  let browser: Chromium
  let socket: Socket
  let published: Published

  before(async () => {
    const settings = {
      "page-analytics": { seal_every_ms: 200, deadline_ms: 60_000 },
      screenshots: { browser_folder: browserFolder, deadline_ms: 300_000 },
    }
    loop = await Loop.start({ clock, env: { ...pluginSettings(settings), MILLRACE_JOBS_POLL_MS: "50" } })
    browser = await Chromium.start()
  })
  after(async () => {
    socket?.close()
    await browser?.stop()
    await loop?.host.stop()
  })
  const ofPage = async (filter: object = {}) => loop.rows({ ...filter, artifact_id: published.id })
  const first = (filter: object) => until(async () => (await ofPage(filter))[0])
  /** Returns rows of a query. Repeats it until they are complete, since sealing takes a moment. */
  const answer = (query: string, complete: (rows: unknown[][]) => boolean) =>
    until(async () => {
      const { rows } = await loop.call<{ rows: unknown[][] }>("POST", "/v1/page-analytics/query", { query })
      return complete(rows) && rows
    })

  it("shows a team everything that visitors did", async () => {
    published = await loop.publish([
      { key: "control", html: page("control") },
      { key: "bold", html: page("bold") },
    ])
    const address = loop.host.url + published.path
    await loop.call("POST", "/v1/event-pipelines", {
      name: "Contact",
      state: "active",
      source_kind: "browser_form",
      auth_mode: "public_artifact",
      owner_artifact_id: published.id,
      pipeline: [
        {
          type: "dataset.write",
          dataset_slug: "leads",
          key: "email",
          row: { email: "{{ event.email }}", name: "{{ event.name }}", session_id: "{{ envelope.session_id }}" },
        },
        { type: "live.broadcast", channel: "leads" },
      ],
    })
    socket = io(loop.host.url, { path: "/live", transports: ["websocket"], auth: { token: loop.host.adminKey } })
    socket.on("message", (message: (typeof messages)[number]) => messages.push(message))
    for (const channel of ["datasets:page-events", "leads"])
      expect(await socket.emitWithAck("subscribe", { channel })).to.deep.equal({ ok: true })

    const angry = await browser.visitor()
    await angry.page.goto(`${address}?utm_source=letter&gclid=abc`)
    const variant = await angry.page.textContent("h1")
    await inRow(angry.page, async () => {
      for (let n = 0; n < 4; n++) await angry.page.mouse.click(300, 240 + n)
    })
    await angry.page.mouse.wheel(0, 700)
    await angry.page.fill("[name=email]", "typed-and-left@example.com")
    // A click in a later request extends the same burst.
    const rage = await first({ event: "rage_click", click_count: 4 })
    await first({ event: "form_start" })
    await angry.page.reload()
    expect(await angry.page.textContent("h1")).to.equal(variant)
    await angry.context.close()

    const keen = await browser.visitor({ userAgent: iphoneInstagram })
    await keen.page.goto(address)
    const keenVariant = await keen.page.textContent("h1")
    await keen.page.fill("[name=email]", "ada@example.com")
    await keen.page.click("form button")
    await keen.page.waitForSelector("#thank-you", { state: "visible" })
    await first({ event: "lead" })
    await keen.context.close()

    const idle = await browser.visitor({ userAgent: iphoneInstagram.replace("18_1", "17_5") })
    await idle.page.goto(address)
    await until(async () => (await ofPage({ event: "pageview", in_app: "instagram" })).length >= 2)
    await idle.context.close()

    // Rows.
    const session = rage["session_id"]
    const view = (await ofPage({ event: "pageview", session_id: session as string }))[0]
    expect(view).to.deep.include({ variant, utm_source: "letter", click_id: "abc", click_id_type: "gclid", device_type: "desktop" })
    expect(view).to.include({ browser: "chrome", in_app: "", language: "de", is_test: false, page_url: address })
    expect(await ofPage({ event: "scroll_milestone", session_id: session as string })).not.to.deep.equal([])

    // Derived rows: immediate ones, and those after the end of the sessions.
    expect(rage).to.deep.include({ event_id: `${session}:rage_click:1`, element: "picture", click_count: 4, variant })
    expect(await ofPage({ event: "form_abandon" })).to.deep.equal([])
    clock.ahead += 31 * 60_000
    const abandonment = await first({ event: "form_abandon" })
    expect(abandonment).to.include({ session_id: session, form: "contact", fields_touched: "email", last_field: "email", field_count: 1 })
    const bailed = await first({ event: "scroll_bail" })
    expect(bailed).to.include({ in_app: "instagram", max_scroll_depth: 0 })
    expect(JSON.stringify(await loop.rows())).not.to.include("typed-and-left")

    // The lead, with its stamped columns and its session.
    const { rows: leads } = await loop.call<{ rows: { values: Values }[] }>("GET", "/v1/datasets/leads/rows")
    expect(leads).to.have.length(1)
    const lead = leads[0]?.values ?? {}
    expect(lead).to.deep.include({ email: "ada@example.com", variant: keenVariant, artifact_id: published.id, page_url: address })
    expect(lead).to.deep.include({ is_test: false, device_type: "mobile", browser: "safari", in_app: "instagram", language: "de" })
    expect(lead).to.include({ country: "", region: "", city: "" })
    const [report] = await ofPage({ event: "lead" })
    expect(lead["session_id"]).to.equal(report?.["session_id"])

    // Answers in SQL.
    const mine = `artifact_id = '${published.id}'`
    const friction = `SELECT event, session_id FROM events WHERE ${mine} AND event IN ('rage_click', 'form_abandon', 'scroll_bail') ORDER BY event`
    expect(await answer(friction, (rows) => rows.length === 3)).to.deep.equal([
      ["form_abandon", session],
      ["rage_click", session],
      ["scroll_bail", bailed["session_id"]],
    ])
    const converted = `SELECT session_id, variant, in_app, started_form FROM sessions WHERE ${mine} AND converted`
    expect(await answer(converted, (rows) => rows.length === 1)).to.deep.equal([[lead["session_id"], keenVariant, "instagram", true]])
    const conversion = `SELECT count(DISTINCT session_id) FILTER (event = 'pageview'), count(DISTINCT session_id) FILTER (event = 'lead') FROM events WHERE ${mine}`
    expect(await answer(conversion, () => true)).to.deep.equal([[3, 1]])
    const funnel = `SELECT step, sum(sessions) FROM funnel WHERE ${mine} GROUP BY step, position ORDER BY position`
    expect((await answer(funnel, () => true)).map(([step]) => step)).to.deep.equal([
      "viewed",
      "scrolled_half",
      "clicked",
      "started_form",
      "became_lead",
    ])

    // Live messages.
    const live = (channel: string) => messages.filter((message) => message.channel === channel).map(({ data }) => data)
    const kinds = ["pageview", "scroll_milestone", "rage_click", "form_start", "lead", "form_abandon", "scroll_bail"]
    await until(() => kinds.every((kind) => live("datasets:page-events").some(({ event }) => event === kind)))
    expect(live("leads").map(({ email }) => email)).to.deep.equal(["ada@example.com"])

    // The page in the variant of the angry visitor.
    for (const key of ["control", "bold"] as const) {
      const shot = await take(loop.host, { page: published.slug, variant: key, viewport: { width: 800, height: 600 }, full_page: true })
      const picture = await pictureOf(shot)
      expect(picture.width).to.equal(800)
      expect(picture.height).to.be.greaterThan(2_000)
      expect(picture.at(700, 100)).to.deep.equal([...colours[key]])
      expect(picture.at(700, 250)).to.deep.equal([238, 238, 238])
      expect(picture.at(700, 1_000)).to.deep.equal([255, 255, 255])
      const heading = Array.from({ length: 200 }, (_, x) => picture.at(x, 40)).filter(([red, green, blue]) => red + green + blue > 700)
      expect(heading.length, "white letters on the header").to.be.greaterThan(5)
    }
  })
})
