// The scripts for browsers: small, current, cacheable, and free of personal data.
import { readFileSync } from "node:fs"
import { gzipSync } from "node:zlib"
import { expect } from "chai"
import pageEvents from "../../../plugins/pages/page-events/index.ts"
import { Loop } from "./loop.ts"

describe("the beacon", () => {
  let loop: Loop
  let beacon: string
  let vitals: string
  let vitalsVersion: string
  before(async () => {
    loop = await Loop.start()
    const textOf = async (path: string) => (await fetch(`${loop.host.url}/v1/${path}`)).text()
    beacon = await textOf("beacon.js")
    vitalsVersion = /beacon-vitals\.js\?v=([\w-]+)/.exec(beacon)?.[1] ?? ""
    vitals = await textOf(`beacon-vitals.js?v=${vitalsVersion}`)
  })
  after(() => loop.host.stop())

  // 2 KB would suffice without retries over a bad network and over a reload.
  it("is smaller than 2.5 KB, packed, before web vitals", () => {
    expect(gzipSync(beacon).length).to.be.below(2_560)
    expect(vitalsVersion).to.match(/./)
    expect(beacon.length).to.be.below(vitals.length)
  })

  it("is what its source says", async () => {
    for (const { file, text } of (await pageEvents.generates?.()) ?? []) expect(readFileSync(file, "utf8")).to.equal(text)
  })

  it("is served from a first-party path, cacheable, to pages of any origin", async () => {
    const url = `${loop.host.url}/v1/beacon.js`
    const first = await fetch(url)
    expect([first.status, first.headers.get("content-type")]).to.deep.equal([200, "text/javascript; charset=utf-8"])
    expect(await first.text()).to.equal(beacon)
    expect(first.headers.get("cache-control")).to.include("public")
    expect(first.headers.get("access-control-allow-origin")).to.equal("*")
    expect(first.headers.get("set-cookie")).to.equal(null)
    const again = await fetch(url, { headers: { "if-none-match": first.headers.get("etag") ?? "" } })
    expect([again.status, await again.text()]).to.deep.equal([304, ""])
    const head = await fetch(url, { method: "HEAD" })
    expect([head.status, await head.text()]).to.deep.equal([200, ""])
    const current = await fetch(`${loop.host.url}/v1/beacon-vitals.js?v=${vitalsVersion}`)
    expect(current.headers.get("cache-control")).to.include("immutable")
    const other = await fetch(`${loop.host.url}/v1/beacon-vitals.js?v=old`)
    expect(other.headers.get("cache-control")).not.to.include("immutable")
  })
})
