// What browsers are given: small, current, cacheable, and silent about people.
import { readFileSync } from "node:fs"
import { gzipSync } from "node:zlib"
import { expect } from "chai"
import { generatedBeacon } from "../../../plugins/pages/page-events/beacon/build.ts"
import { beacon, vitals, vitalsVersion } from "../../../plugins/pages/page-events/beacon/scripts.generated.ts"
import { Loop } from "./loop.ts"

describe("the beacon", () => {
  let loop: Loop
  before(async () => {
    loop = await Loop.start()
  })
  after(() => loop.host.stop())

  // 2 KB would do without what keeps events over a bad network and over a reload.
  it("is smaller than 2.5 KB, packed, before web vitals", () => {
    expect(gzipSync(beacon).length).to.be.below(2_560)
    expect(beacon).to.include(`beacon-vitals.js?v=${vitalsVersion}`)
    expect(beacon.length).to.be.below(vitals.length)
  })

  it("is what its source says", async () => {
    for (const { file, text } of await generatedBeacon()) expect(readFileSync(file, "utf8")).to.equal(text)
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
