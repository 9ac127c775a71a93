// docs/pages.md is correct: publishes its page, sends its batch, runs its queries, checks its statuses.
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect } from "chai"
import { projectRoot } from "../../import-graph.ts"
import { pluginSettings } from "../buckets/stores.ts"
import { Loop, type Published, someone } from "./loop.ts"

const text = readFileSync(join(projectRoot, "docs/pages.md"), "utf8")
const blocks = (kind: string) =>
  [...text.matchAll(new RegExp(`^\`\`\`${kind}\\n([\\s\\S]*?)^\`\`\`$`, "gm"))].map(([, block = ""]) => block)

describe("the page about pages", () => {
  let loop: Loop
  let page: Published
  before(async () => {
    loop = await Loop.start({ env: pluginSettings({ "page-analytics": { deadline_ms: 60_000 } }) })
    const { id, slug } = await loop.call<Published>("POST", "/v1/pages", JSON.parse(blocks("json page")[0] ?? ""))
    await loop.call("POST", `/v1/pages/${slug}/publish`)
    page = { id, slug, path: `/p/${loop.host.organization.slug}/${slug}` }
  })
  after(() => loop.host.stop())

  it("shows a batch that is answered as it says", async () => {
    const { inbound_url } = await loop.pipeline(page)
    const batch = JSON.parse(blocks("json batch")[0]?.replace("ARTIFACT_ID", page.id) ?? "") as { events: object[] }
    const { status, body } = await loop.send(inbound_url, page, batch, someone())
    expect(status).to.equal(200)
    expect(body.results.map((result) => result["cause"] ?? result["status"])).to.deep.equal(["accepted", "accepted", "unknown_event"])
  })

  it("shows queries that are answered, at least those that marketers ask most", async () => {
    const queries = blocks("sql")
    expect(queries).to.not.have.length(0)
    for (const query of queries) await loop.call("POST", "/v1/page-analytics/query", { query })
  })

  it("names only routes and settings that there are", async () => {
    for (const path of [page.path, "/v1/beacon.js", "/v1/beacon-vitals.js"])
      expect((await fetch(loop.host.url + path)).status, path).to.equal(200)
    const settings = readFileSync(join(projectRoot, "docs/reference/settings.md"), "utf8")
    for (const name of ["visitor_cookie", "address_per_minute", "organization_per_minute", "keep_replaced_ms"])
      expect(settings).to.include(name)
  })
})
