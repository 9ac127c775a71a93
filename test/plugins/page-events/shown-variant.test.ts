// The variant shown to a visitor stays in events and leads, even after its removal from the page.
import { expect } from "chai"
import { ShiftedClock } from "../../shifted-clock.ts"
import { desktopChrome, event, Loop, type Published } from "./loop.ts"

interface Told {
  readonly variant: string
  readonly visitor_id: string
  readonly visitor_proof: string
}

interface Seen {
  readonly headers: Record<string, string>
  /** The beacon's envelope, and the form's inserted fields. */
  readonly told: Told
  readonly fields: URLSearchParams
}

const variant = (key: string) => ({ key, html: `<h1>${key}</h1><form id="contact"><input name="email"></form>`, weight: 1 })

describe("the variant that a visitor was shown", () => {
  const clock = new ShiftedClock()
  let loop: Loop
  let page: Published
  let url: string
  let agents = 0
  before(async () => {
    loop = await Loop.start({ clock })
  })
  beforeEach(async () => {
    page = await loop.publish([variant("bold"), variant("control")])
    url = (await loop.pipeline(page)).inbound_url
    await loop.call("POST", "/v1/event-pipelines", {
      name: `Contact of ${page.slug}`,
      state: "active",
      source_kind: "browser_form",
      auth_mode: "public_artifact",
      owner_artifact_id: page.id,
      pipeline: [{ type: "dataset.write", dataset_slug: `leads-${page.slug}`, key: "email" }],
    })
  })
  after(() => loop.host.stop())

  /** Returns a new visitor with the variant `bold`. */
  const openBold = async (more: Record<string, string> = {}): Promise<Seen> => {
    for (;;) {
      const headers = { "user-agent": `${desktopChrome} Shown/${++agents}`, ...more }
      const html = (await (await fetch(loop.host.url + page.path, { headers })).text()).replaceAll("&quot;", '"')
      if (!html.includes("<h1>bold</h1>")) continue
      const session = JSON.parse(/data-mr="(.*?)"><\/script>/.exec(html)?.[1] ?? "{}") as { e: Told }
      const fields = new URLSearchParams()
      for (const [, name = "", value = ""] of html.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)">/g))
        fields.set(name, value)
      return { headers, told: session.e, fields }
    }
  }
  const endTest = () => loop.call("PATCH", `/v1/pages/${page.slug}`, { variants: [variant("control")] })
  const variantOfEvent = async (sessionData: object, headers: Record<string, string>) => {
    const start = event("form_start", { form: "contact" })
    expect((await loop.send(url, page, { _envelope: sessionData, events: [start] }, headers)).status).to.equal(200)
    return (await loop.rowOf(start))?.["variant"]
  }
  /** Returns the whole row of the lead. */
  const leadOf = async ({ fields, headers }: Pick<Seen, "fields" | "headers">, as: "form" | "json" = "form") => {
    const email = `visitor-${++agents}@example.com`
    const all = { ...Object.fromEntries(fields), email }
    const body = as === "form" ? new URLSearchParams(all) : JSON.stringify(all)
    const type: Record<string, string> = as === "form" ? {} : { "content-type": "application/json" }
    expect((await fetch(loop.host.url + page.path, { method: "POST", body, headers: { ...headers, ...type } })).status).to.equal(200)
    const query = new URLSearchParams({ filter: JSON.stringify({ email }) })
    type Rows = { rows: { values: Record<string, unknown> }[] }
    return (await loop.call<Rows>("GET", `/v1/datasets/leads-${page.slug}/rows?${query}`)).rows[0]?.values
  }

  it("is said though it was removed meanwhile, by scripts and by forms, and its proof is kept nowhere", async () => {
    const view = await openBold()
    const request = await openBold({ "sec-gpc": "1" })
    await endTest()
    expect(await variantOfEvent(view.told, view.headers)).to.equal("bold")
    for (const as of ["form", "json"] as const) {
      const lead = await leadOf(view, as)
      expect(lead, as).to.include({ variant: "bold" })
      expect(JSON.stringify(lead), as).not.to.include("proof")
    }
    expect((await leadOf(request))?.["variant"]).to.equal("bold")
    const silent = { headers: view.headers, fields: new URLSearchParams() }
    expect((await leadOf(silent))?.["variant"]).to.equal("control")
  })

  it("is blank where nothing proves it: forged, taken from another visitor or page, or a day later", async () => {
    const view = await openBold()
    const other = await openBold()
    const elsewhere = page
    page = await loop.publish([variant("bold"), variant("control")])
    const ofOther = await openBold()
    page = elsewhere
    await endTest()
    const forged = [
      { variant: "bold" },
      { ...view.told, variant: "never" },
      { ...view.told, visitor_id: other.told.visitor_id },
      { ...view.told, visitor_proof: ofOther.told.visitor_proof },
      { ...view.told, visitor_proof: "b1.éééééééééééééééééééééé" },
    ]
    for (const forgery of forged) {
      expect(await variantOfEvent(forgery, view.headers), JSON.stringify(forgery)).to.equal("")
      const fields = new URLSearchParams(Object.entries(forgery).map(([name, value]): [string, string] => [`_envelope.${name}`, value]))
      expect((await leadOf({ headers: view.headers, fields }))?.["variant"], JSON.stringify(forgery)).to.equal("")
    }
    expect(await variantOfEvent({ ...view.told, variant: "control" }, view.headers)).to.equal("control")
    clock.ahead += 25 * 3_600_000
    expect(await variantOfEvent(view.told, view.headers)).to.equal("")
    expect((await leadOf(view))?.["variant"]).to.equal("")
  })
})
