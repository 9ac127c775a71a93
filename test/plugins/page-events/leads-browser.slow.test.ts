// Every way a page can send its form in a real browser: the stored submissions agree with the page events.
import { expect } from "chai"
import { ShiftedClock } from "../../shifted-clock.ts"
import { untilProcess as until } from "../../waiting.ts"
import { Chromium, type Page } from "./chromium.ts"
import { desktopChrome, Loop, type Published } from "./loop.ts"

const form = '<form id="contact"><input name="email" type="email"><button>Send</button></form>'
const byScript = (send: string) =>
  `${form}<script>document.querySelector("form").addEventListener("submit", (event) => { event.preventDefault(); const form = event.target; ${send} })</script>`
const fetched = (body: string, headers = "{}") =>
  `fetch(form.action, { method: "POST", headers: ${headers}, body: ${body} }).then(() => { document.title = "sent" })`
const plain = "<form method=post action=$><input name=email><button>Send</button></form>"

/** Sends the form with this address, and waits for the submission. */
type Send = (tab: Page, email: string) => Promise<unknown>

const thanked = (tab: Page) => tab.waitForURL(/#thank-you$/)
const titled = (tab: Page) => until(async () => (await tab.title()) === "sent")
const clicked: Send = async (tab, email) => {
  await tab.fill("[name=email]", email)
  await tab.click("button")
}

const ways: Record<string, { html: string; send: Send }> = {
  "a form": { html: form, send: (tab, email) => clicked(tab, email).then(() => thanked(tab)) },
  "a double click": {
    html: form,
    send: async (tab, email) => {
      await tab.fill("[name=email]", email)
      await tab.dblclick("button")
      await thanked(tab)
    },
  },
  "form.submit()": {
    html: '<form id="contact"><input name="email"><button type="button" onclick="this.form.submit()">Send</button></form>',
    send: (tab, email) => clicked(tab, email).then(() => thanked(tab)),
  },
  "fetch with FormData": {
    html: byScript(fetched("new FormData(form)")),
    send: (tab, email) => clicked(tab, email).then(() => titled(tab)),
  },
  "fetch with JSON": {
    html: byScript(fetched("JSON.stringify({ email: form.elements.namedItem('email').value })", '{ "content-type": "application/json" }')),
    send: (tab, email) => clicked(tab, email).then(() => titled(tab)),
  },
  "a form in a shadow tree": {
    html: `<div id="host"></div><script>document.getElementById("host").attachShadow({ mode: "open" }).innerHTML = '${plain}'.replace("$", location.pathname)</script>`,
    send: (tab, email) => clicked(tab, email).then(() => thanked(tab)),
  },
  "a form in a frame": {
    html: `<iframe></iframe><script>document.querySelector("iframe").srcdoc = '${plain}'.replace("<form", "<form target=_top").replace("$", location.pathname)</script>`,
    send: async (tab, email) => {
      const frame = tab.frameLocator("iframe")
      await frame.locator("[name=email]").fill(email)
      await frame.locator("button").click()
      await thanked(tab)
    },
  },
}

describe("leads of a page in a real browser", () => {
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

  async function published(html: string): Promise<Published> {
    const page = await loop.publish([{ key: "control", html: `<!doctype html><title>Offer</title>${html}` }])
    await loop.call("POST", "/v1/event-pipelines", {
      name: `Leads of ${page.slug}`,
      state: "active",
      source_kind: "browser_form",
      auth_mode: "public_artifact",
      owner_artifact_id: page.id,
      request_schema: { type: "object", properties: { email: { type: "string", format: "email" } } },
      pipeline: [
        { type: "dataset.write", dataset_slug: "leads", row: { email: "{{ event.email }}", session_id: "{{ envelope.session_id }}" } },
      ],
    })
    return page
  }

  let visitors = 0
  async function visit(page: Published, run: (tab: Page) => Promise<unknown>): Promise<void> {
    const { page: tab, context } = await browser.visitor({ userAgent: `${desktopChrome} Lead/${++visitors}` })
    await tab.goto(loop.host.url + page.path)
    await until(async () => (await loop.rows({ artifact_id: page.id, event: "pageview" }))[0])
    await run(tab)
    await context.close()
  }

  it("are the rows that were kept, one for each, from every sender, and no form that was refused", async () => {
    const rows = async () =>
      (await loop.call<{ rows: { values: Record<string, unknown> }[] }>("GET", "/v1/datasets/leads/rows")).rows.map(
        ({ values }) => values["session_id"],
      )
    const leads = async () => (await loop.rows({ event: "lead" })).map((row) => row["session_id"])
    const pages = new Map<string, Published>()
    let sentCount = 0
    for (const [way, { html, send }] of Object.entries(ways)) {
      const page = await published(html)
      pages.set(way, page)
      await visit(page, (tab) => send(tab, "ada@acme.test"))
      expect(await leads(), way).to.have.length(++sentCount)
      expect((await leads()).sort(), way).to.deep.equal((await rows()).sort())
    }
    // The beacon sees open shadow trees, but no frames.
    const formStarts = async (way: string) => (await loop.rows({ artifact_id: pages.get(way)?.id ?? "", event: "form_start" }))[0]
    expect(await formStarts("a form in a shadow tree")).to.include({ form: "form", field: "email" })
    const [lead] = await loop.rows({ artifact_id: pages.get("a form in a shadow tree")?.id ?? "", event: "lead" })
    expect(lead).to.include({ form: "form" })
    const clicks = await loop.rows({ artifact_id: pages.get("a form in a shadow tree")?.id ?? "", event: "cta_click" })
    expect(clicks.map((row) => row["element"])).to.deep.equal(["button"])
    expect(await formStarts("a form in a frame")).to.equal(undefined)
    const refused = await published(form)
    await visit(refused, async (tab) => {
      // Browsers accept this address, but the pipeline's schema does not.
      await clicked(tab, "ada@localhost")
      await tab.waitForSelector("h1")
      expect(await tab.textContent("h1")).to.equal("This could not be sent")
    })
    expect(await rows()).to.have.length(Object.keys(ways).length)
    const started = await until(async () => (await loop.rows({ artifact_id: refused.id, event: "form_start" }))[0])
    clock.ahead += 31 * 60_000
    const abandonment = await until(async () => {
      const matches = await loop.rows({ event: "form_abandon" })
      return matches.length > 0 && matches
    })
    expect(abandonment.map((row) => row["session_id"])).to.deep.equal([started["session_id"]])
    expect(await leads()).to.have.length(Object.keys(ways).length)
  })

  it("follow clicks and forms through nested shadow trees, and see nothing of closed ones and of frames", async () => {
    const page =
      await published(`<iframe srcdoc="<button>Framed</button>"></iframe><x-card id="card"></x-card><x-shut id="shut"></x-shut><script>
      const tree = (host, mode, html) => { const root = host.attachShadow({ mode }); root.innerHTML = html; return root }
      const outer = tree(document.getElementById("card"), "open", '<a data-cta="more" href="#more"><b>More</b></a><x-form></x-form>')
      tree(outer.querySelector("x-form"), "open", '<form id="inner" method="post"><label>Name <input name="who"></label></form>')
      tree(document.getElementById("shut"), "closed", '<button style="width:200px;height:50px" data-cta="hidden">Closed</button>')
    </script>`)
    await visit(page, async (tab) => {
      await tab.click("b")
      await tab.fill("[name=who]", "Ada")
      await tab.click("#shut")
      await tab.frameLocator("iframe").locator("button").click()
      await until(async () => (await loop.rows({ artifact_id: page.id, event: "form_start" }))[0])
    })
    const rows = await loop.rows({ artifact_id: page.id })
    expect(rows.filter((row) => row["event"] === "form_start")).to.have.length(1)
    expect(rows.find((row) => row["event"] === "form_start")).to.include({ form: "inner", field: "who" })
    expect(rows.filter((row) => row["event"] === "cta_click").map((row) => row["element"])).to.deep.equal(["more"])
  })
})
