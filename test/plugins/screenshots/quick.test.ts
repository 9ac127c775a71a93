// A minimal test of screenshots with a browser: a picture and a refusal. The slow tier has the rest.
import { expect } from "chai"
import type { TestHost } from "#core/testing"
import { type Site, startSite } from "./site.ts"
import { pictureOf, start, startTaking, take } from "./taking.ts"

describe("a screenshot", () => {
  let site: Site
  let host: TestHost
  before(async () => {
    site = await startSite({ "/blue": "<style>body { background: #00f }</style>" })
    host = await startTaking({ allow: [site.host] })
  })
  after(async () => {
    await host.stop()
    await site.close()
  })

  it("is the page as the browser shows it, behind a link", async () => {
    const picture = await pictureOf(await take(host, { url: `${site.origin}/blue`, viewport: { width: 400, height: 300 } }))
    expect([picture.width, picture.height]).to.deep.equal([400, 300])
    expect(picture.at(200, 150)).to.deep.equal([0, 0, 255])
  })

  it("is refused of an address that the service may not reach", async () => {
    const { status, body } = await start(host, { url: "http://169.254.169.254/latest/meta-data" })
    expect([status, body.code, body.details.reason]).to.deep.equal([400, "failed_precondition", "address_refused"])
  })
})
