// A lead from a real page in a real browser: a form posted as JSON from another origin, a plain HTML form, and a beacon sent on
// leaving the page.
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { expect } from "chai"
import type { Browser, Page } from "playwright-core"
import { type TestHost, testHost } from "#core/testing"
import { launchChromium } from "../../chromium.ts"
import { untilProcess as until } from "../../waiting.ts"
import { Bench, type Made } from "../bench.ts"

describe("a page in a browser", () => {
  let browser: Browser
  let host: TestHost
  let bench: Bench
  let site: Server
  let page: Page
  let url = ""
  before(async () => {
    browser = await launchChromium()
    host = await testHost({ shippedPipelines: true })
    bench = new Bench(host)
    url = (await host.api<Made>("GET", "/v1/event-pipelines/website-lead")).body.inbound_url
    site = createServer((_request, response) => response.setHeader("content-type", "text/html").end(html(url)))
    await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve))
    page = await browser.newPage({ locale: "de-DE" })
    await page.goto(`http://127.0.0.1:${(site.address() as AddressInfo).port}/`)
  })
  after(async () => {
    await browser?.close()
    if (site) await new Promise((resolve) => site.close(resolve))
    await host?.stop()
  })
  const leadOf = async (email: string) => (await bench.rows("leads")).find(({ values }) => values["email"] === email)?.values

  it("posts its form across origins and reads the answer", async () => {
    await page.fill("#script [name=email]", "Ada@Example.com")
    await page.fill("#script [name=name]", "Ada")
    await page.click("#script button")
    await page.waitForFunction("window.answered !== undefined")
    const answer = (await page.evaluate("window.answered")) as { status: number; requestId: string; body: { ok: boolean } }
    expect([answer.status, answer.body.ok, answer.requestId]).to.deep.equal([201, true, "page-1"])
    expect(await leadOf("ada@example.com")).to.include({
      name: "Ada",
      is_test: false,
      device_type: "desktop",
      browser: "chrome",
      language: "de",
      variant: "B",
    })
  })

  it("sends a beacon when it is left", async () => {
    expect(await page.evaluate("sendLead('beacon@example.com')")).to.equal(true)
    await until(async () => (await leadOf("beacon@example.com")) !== undefined)
    expect(await leadOf("beacon@example.com")).to.include({ name: "Beacon", is_test: true })
    expect((await bench.newest("website-lead")).response?.status).to.equal(201)
  })

  it("submits a plain form without a script", async () => {
    await page.fill("#plain [name=email]", "grace@example.com")
    await Promise.all([page.waitForURL(url), page.click("#plain button")])
    expect(await page.textContent("body")).to.include('"ok":true')
    expect(await leadOf("grace@example.com")).to.include({ name: "Grace", budget: 0, variant: "A" })
  })
})

function html(target: string): string {
  return `<!doctype html><title>Lead</title>
<form id="script"><input name="email"><input name="name"><button>Send</button></form>
<form id="plain" method="post" action="${target}">
  <input name="email"><input name="name" value="Grace"><input name="budget" value=""><input type="hidden" name="_envelope.variant" value="A">
  <button>Send</button>
</form>
<script>
const target = ${JSON.stringify(target)}
document.querySelector("#script").addEventListener("submit", async (event) => {
  event.preventDefault()
  const body = { ...Object.fromEntries(new FormData(event.target)), _envelope: { page_url: location.href, variant: "B" } }
  const headers = { "content-type": "application/json", "x-request-id": "page-1" }
  const answer = await fetch(target, { method: "POST", headers, body: JSON.stringify(body) })
  window.answered = { status: answer.status, requestId: answer.headers.get("x-request-id"), body: await answer.json() }
})
function sendLead(email) {
  return navigator.sendBeacon(target, JSON.stringify({ email, name: "Beacon", is_test: true }))
}
</script>`
}
