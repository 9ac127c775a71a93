// The mail about pending approvals links to the console.
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { until } from "../../waiting.ts"
import { memberOf } from "../approvals/gated-notes.ts"

describe("the mail about what waits for approval", () => {
  let host: TestHost
  before(async () => {
    host = await testHost()
    await memberOf(host, "second")
  })
  after(() => host.stop())

  it("opens the console at the approval", async () => {
    const mail = { type: "email.send", gate: true, to: "{{ event.email }}", heading: "Thanks" }
    const document = { name: "Gated", state: "active", auth_mode: "none", pipeline: [mail] }
    const response = await host.api<{ slug: string; inbound_url: string }>("POST", "/v1/event-pipelines", document)
    await host.send(response.body, { email: "ada@example.com" })
    const [waiting] = await until("the approval", async () => {
      const { body } = await host.api<{ approvals: { id: string }[] }>("GET", "/v1/approvals?state=pending")
      return body.approvals.length > 0 && body.approvals
    })
    host.clock.move(60_000)
    const text = await until("the mail", () => host.mails.find((email) => email.text.includes(waiting?.id ?? "-"))?.text)
    const links = text.match(/http\S*\/console\/approvals\/[\w-]+/g) ?? []
    expect(new Set(links)).to.deep.equal(new Set([`${host.url}/console/approvals/${waiting?.id}`]))
    const page = await fetch(links[0] ?? "")
    expect(page.status).to.equal(200)
    expect(await page.text()).to.include("/console-assets/main-")
  })
})
