// The console over HTTP: its page and files, what it knows of the API, how large it is, and the link of the first start.
import { gzipSync } from "node:zlib"
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { Operations } from "../../../core/contract/operation.ts"
import { greeting } from "../../../plugins/console/greeting.ts"
import { Bootstrap, Sessions } from "../../../plugins/organizations/index.ts"

const maxBytes = 60 * 1_024

describe("the console over HTTP", () => {
  let host: TestHost
  before(async () => {
    host = await testHost()
  })
  after(() => host.stop())

  it("is one page at every place, with a policy that lets in nothing from elsewhere", async () => {
    const [here, below] = await Promise.all(["/console", "/console/datasets/website%20leads"].map((path) => fetch(host.url + path)))
    expect(here?.status).to.equal(200)
    expect(await here?.text()).to.equal(await below?.text())
    const policy = here?.headers.get("content-security-policy")
    expect(policy).to.include("default-src 'none'").and.include("script-src 'self'").and.include("frame-ancestors 'none'")
    expect(policy).to.not.include("unsafe")
  })

  it("loads at most 60 KB of script and style, compressed, and keeps them for good", async () => {
    const text = await (await fetch(`${host.url}/console`)).text()
    const files = [...text.matchAll(/(?:href|src)="(\/console-assets\/[^"]+)"/g)].map(([, path = ""]) => path)
    expect(files).to.have.length(2)
    let bytes = 0
    for (const path of files) {
      const response = await fetch(host.url + path)
      expect(response.headers.get("cache-control")).to.include("immutable")
      bytes += gzipSync(await response.bytes()).length
    }
    expect(bytes).to.be.below(maxBytes)
    const missing = await fetch(`${host.url}/console-assets/main-OLD.js`)
    expect([missing.status, ((await missing.json()) as { details: { reason: string } }).details.reason]).to.deep.equal([
      404,
      "console_file_not_found",
    ])
  })

  it("knows every operation but those of staff, without what only programs need", async () => {
    const catalog = (await (await fetch(`${host.url}/console-assets/catalog.json`)).json()) as { name: string }[]
    const declared = host.runtime.registry.items(Operations).filter(({ access }) => !access.staff)
    expect(catalog.map(({ name }) => name)).to.have.members(declared.map(({ name }) => name))
    expect(JSON.stringify(catalog)).to.not.include(host.organization.id)
  })

  it("is signed in to once by the link that the first start prints, within ten minutes", async () => {
    const printed = greeting({ ...host.get(Bootstrap), adminKey: host.adminKey } as Bootstrap, host.get(Sessions), host.url)
    const code = /console#code=([\w-]+)/.exec(printed)?.[1]
    expect(printed).to.not.include(host.adminKey)
    const redeem = () =>
      fetch(`${host.url}/console-session`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ code }),
      })
    const answers = await Promise.all([redeem(), redeem(), redeem()])
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([204, 401, 401])
    const late = host.get(Sessions).code(host.adminKey)
    host.clock.move(600_000)
    expect(host.get(Sessions).redeem(late)).to.equal(undefined)
    expect(greeting({ ...host.get(Bootstrap), adminKey: null } as Bootstrap, host.get(Sessions), host.url)).to.not.include("#")
  })
})
