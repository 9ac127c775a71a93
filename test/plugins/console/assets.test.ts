// The console over HTTP: its page and files, its knowledge of the API, its size, and the link of the first start.
import { gzipSync } from "node:zlib"
import { expect } from "chai"
import { Vault } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { Operations } from "../../../core/contract/operation.ts"
import { greeting } from "../../../plugins/console/index.ts"
import { ConsoleAssets } from "../../../plugins/console/routes.ts"
import { createOperatorLink } from "../../../plugins/platform/identity/index.ts"
import { Bootstrap } from "../../../plugins/platform/organizations/index.ts"

const maxFirstBytes = 60 * 1_024
const maxEditorBytes = 200 * 1_024

/** Returns the files that a script needs for its start, itself included. */
function closureOf(name: string, files: ReadonlyMap<string, string>, existing = new Set<string>()): Set<string> {
  if (existing.has(name)) return existing
  existing.add(name)
  for (const [, chunk = ""] of (files.get(name) ?? "").matchAll(/(?:\bfrom|\bimport)\s*"\.\/([\w.-]+)"/g)) closureOf(chunk, files, existing)
  return existing
}

function bytesOf(names: ReadonlySet<string>, files: ReadonlyMap<string, string>): number {
  return [...names].reduce((sum, name) => sum + gzipSync(files.get(name) ?? "").length, 0)
}

describe("the console over HTTP", () => {
  let host: TestHost
  before(async () => {
    host = await testHost({ env: { MILLRACE_PLUGINS_PATHS: `${import.meta.dirname}/sample` }, capture: false })
  })
  after(() => host.stop())

  it("is one page at every place, with a policy that lets in nothing from elsewhere", async () => {
    const [here, below] = await Promise.all(["/console", "/console/datasets/website%20leads"].map((path) => fetch(host.url + path)))
    expect(here?.status).to.equal(200)
    expect(await here?.text()).to.equal(await below?.text())
    const policy = here?.headers.get("content-security-policy")
    expect(policy).to.include("default-src 'none'").and.include("script-src 'self'").and.include("frame-ancestors 'none'")
    expect(policy).to.not.include("unsafe")
    // An undecodable path has the policy as well.
    const broken = await fetch(`${host.url}/console/%E0%A4%A`)
    expect(broken.status).to.equal(400)
    expect(broken.headers.get("content-security-policy")).to.equal(policy)
    expect(await broken.text()).to.equal(await (await fetch(`${host.url}/console`)).text())
    expect((await fetch(`${host.url}/console-assets/%E0%A4%A`)).headers.get("content-type")).to.include("json")
  })

  it("loads at most 60 KB of script and style, compressed, at first, and keeps them permanently", async () => {
    const text = await (await fetch(`${host.url}/console`)).text()
    const names = [...text.matchAll(/(?:href|src)="\/console-assets\/([^"]+)"/g)].map(([, name = ""]) => name)
    const files = await host.get(ConsoleAssets).load()
    const main = names.find((name) => name.startsWith("main-")) ?? ""
    const style = names.find((name) => name.startsWith("style-")) ?? ""
    const first = new Set([style, ...closureOf(main, files)])
    // Its imports are requested at once, before the script has arrived.
    expect(names).to.have.members([...first])
    expect(bytesOf(first, files)).to.be.below(maxFirstBytes)
    for (const name of names) {
      const response = await fetch(`${host.url}/console-assets/${name}`)
      expect(response.headers.get("cache-control")).to.include("immutable")
      expect(await response.text()).to.equal(files.get(name))
    }
    const missing = await fetch(`${host.url}/console-assets/main-OLD.js`)
    expect([missing.status, ((await missing.json()) as { details: { reason: string } }).details.reason]).to.deep.equal([
      404,
      "console_file_not_found",
    ])
  })

  it("loads each screen's script by itself, and at most 200 KB, compressed, for one with an editor", async () => {
    const files = await host.get(ConsoleAssets).load()
    const main = [...files.keys()].find((name) => name.startsWith("main-")) ?? ""
    const later = [
      ...new Set([...files.values()].flatMap((text) => [...text.matchAll(/\bimport\("\.\/([\w.-]+)"\)/g)].map(([, name = ""]) => name))),
    ]
    const editors = later.filter((name) => files.get(name)?.includes("cm-content"))
    expect(editors).to.have.length(1)
    expect(later.length).to.be.greaterThan(4)
    // Screens with an editor also load the document parser. Charts never load it.
    const readers = later.filter((name) => files.get(name)?.includes("BLOCK_AS_IMPLICIT_KEY"))
    expect(readers).to.have.length(1)
    const first = closureOf(main, files)
    for (const name of later) {
      expect([...first], "loaded at first").to.not.include(name)
      const isDrawing = files.get(name)?.includes("u-over")
      const all = new Set([
        ...first,
        ...closureOf(name, files),
        ...[...editors, ...(isDrawing ? [] : readers)].flatMap((part) => [...closureOf(part, files)]),
      ])
      expect(bytesOf(all, files), name).to.be.below(maxEditorBytes)
    }
  })

  it("knows every operation but those of staff, without what only programs need", async () => {
    const catalog = (await (await fetch(`${host.url}/console-assets/catalog.json`)).json()) as { name: string }[]
    const declared = host.runtime.registry.items(Operations).filter(({ access }) => !access.staff)
    expect(catalog.map(({ name }) => name)).to.have.members(declared.map(({ name }) => name))
    expect(JSON.stringify(catalog)).to.not.include(host.organization.id)
  })

  it("gives a session to a browser over TLS alone where that is how the service is reached", async () => {
    const secured = await testHost({ env: { MILLRACE_PUBLIC_URL: "https://millrace.example.com" } })
    try {
      const init = { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ key: secured.adminKey }) }
      const { headers } = await fetch(`${secured.url}/console-session`, init)
      expect(headers.get("set-cookie")).to.match(/; Secure; SameSite=Strict$/)
    } finally {
      await secured.stop()
    }
  })

  it("prints a link for the first owner to a terminal, and to a log the command for one", async () => {
    const { isUnclaimed } = host.get(Bootstrap)
    expect(isUnclaimed).to.equal(true)
    const link = () => createOperatorLink(host.get(Vault), host.clock.now(), { owner: true })
    const code = /console#code=(\S+)/.exec(greeting({ isUnclaimed }, link, host.url, true))?.[1]
    const logged = greeting({ isUnclaimed }, link, host.url, false)
    expect(logged).to.include("millrace sign-in-link --owner").and.not.include("#")
    const redeem = () =>
      fetch(`${host.url}/console-session`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ code, name: "Ada", email: "ada@example.com" }),
      })
    const answers = await Promise.all([redeem(), redeem(), redeem()])
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([204, 401, 401])
    expect(greeting({ isUnclaimed: false }, link, host.url, true)).to.equal(`  console        ${host.url}/console`)
  })
})
