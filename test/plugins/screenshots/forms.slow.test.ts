// Forms of an own page sent before its picture: answered like a visitor's, in the requested variant, and never stored.
import { expect } from "chai"
import type { TestHost } from "#core/testing"
import { pictureOf, type Result, startTaking, take } from "./taking.ts"

const red = [255, 0, 0]
const green = [0, 128, 0]

/** Red, with the answer of its form at the left, green once shown; blue if the entered value is in the URL. */
const withForm = `<style>
    body { background: red } #thank-you { position: absolute; left: 0; top: 200px; width: 100px; height: 100px }
    #thank-you:target { background: green }
  </style>
  <form><input name="email"><button>Send</button></form><a id="on" href="?step=2">On</a>
  <form id="get" method="get"><button>Search</button></form>
  <button id="script" onclick="fetch(location.pathname, { method: 'POST', body: 'email=x' }).catch(() => {})">By script</button>
  <div id="thank-you"></div>
  <script>if (location.search.includes("email")) document.body.style.background = "blue"</script>`
const variants = [
  { key: "control", weight: 1, html: withForm },
  { key: "other", weight: 1_000_000, html: '<body style="background:black">' },
]
const send = [
  { action: "fill", selector: "[name=email]", value: "ada@acme.test" },
  { action: "click", selector: "form:not(#get) button" },
]

describe("screenshots: forms of one's own pages", () => {
  let host: TestHost
  before(async () => {
    host = await startTaking({ settings: { concurrency: 2 } })
  })
  after(() => host?.stop())

  async function page(title: string, published: boolean): Promise<{ id: string; slug: string }> {
    const { body } = await host.api<{ id: string; slug: string }>("POST", "/v1/pages", { title, variants })
    if (published) expect((await host.api("POST", `/v1/pages/${body.slug}/publish`)).status).to.equal(200)
    return body
  }

  /** Returns the pipeline's slug. */
  async function connect({ id, slug }: { id: string; slug: string }): Promise<string> {
    const { status, body } = await host.api<{ slug: string }>("POST", "/v1/event-pipelines", {
      name: `Leads ${slug}`,
      state: "active",
      source_kind: "browser_form",
      auth_mode: "public_artifact",
      owner_artifact_id: id,
      pipeline: [{ type: "dataset.write", dataset_slug: `leads-${slug}` }],
    })
    expect(status).to.be.oneOf([200, 201])
    return body.slug
  }

  const shot = (slug: string, instructions: object[]): Promise<Result> => take(host, { page: slug, variant: "control", instructions })

  it("are answered by the page's thanks, published or not, and make no lead", async () => {
    for (const published of [true, false]) {
      const created = await page(published ? "Published" : "Draft", published)
      const pipeline = await connect(created)
      const shots = await Promise.all([shot(created.slug, send), shot(created.slug, [{ action: "click", selector: "#script" }])])
      const [byForm, byScript] = await Promise.all([pictureOf(shots[0]), pictureOf(shots[1])])
      expect([byForm.at(600, 600), byForm.at(50, 250)]).to.deep.equal([red, green])
      expect([byScript.at(600, 600), byScript.at(50, 250)]).to.deep.equal([red, red])
      const { body } = await host.api<{ executions: unknown[] }>("GET", `/v1/event-pipelines/${pipeline}/executions`)
      expect(body.executions).to.deep.equal([])
    }
  })

  it("that nothing takes fail the picture, as visitors would be told", async () => {
    const pages = [await page("Unconnected", true), await page("Unconnected", false)]
    const results = await Promise.all(pages.map(({ slug }) => shot(slug, [...send, { action: "wait", selector: "#thank-you:target" }])))
    for (const result of results) {
      expect([result.status, result.signed_url]).to.deep.equal(["failed", ""])
      expect(result.error).to.match(/^A form of the page was submitted, and no active record_capture pipeline takes it/)
    }
  })

  it("and links to the page itself stay in the variant", async () => {
    const { slug } = await page("Linked", true)
    const results = await Promise.all(["#on", "#get button"].map((selector) => shot(slug, [{ action: "click", selector }])))
    for (const result of results) expect((await pictureOf(result)).at(600, 600)).to.deep.equal(red)
  })
})
