// The widget canary with a real Chromium: a page with its widget, one without it, and a broken one.
import { expect } from "chai"
import { UnitsOfWork } from "#core"
import type { TestHost } from "#core/testing"
import { ApiKeys, Organizations } from "../../../plugins/platform/organizations/index.ts"
import { untilProcess as until } from "../../waiting.ts"
import { type Site, startSite } from "../screenshots/site.ts"
import { startTaking } from "../screenshots/taking.ts"

interface Shown {
  readonly verdict: string | null
  readonly reason: string
  readonly last_check_at: string
}

const withWidget = `<h1>Shop</h1><script>
  addEventListener("load", () => {
    const widget = document.createElement("div")
    widget.id = "chat-widget"
    widget.textContent = "Chat with us"
    document.body.append(widget)
  })
</script>`

describe("the widget canary in Chromium", () => {
  let site: Site
  let host: TestHost
  let key = ""
  let page: { status: number; html: string } = { status: 200, html: withWidget }
  before(async () => {
    site = await startSite({
      "/shop": (_request, response) => void response.writeHead(page.status, { "content-type": "text/html" }).end(page.html),
    })
    host = await startTaking({ allow: [site.host] })
    key = await host.get(UnitsOfWork).run((work) => {
      const user = host.get(Organizations).addUser(work, { email: "staff@example.com", staff: true })
      host.get(Organizations).addMember(work, host.organization.id, user.id, "member")
      const keyOptions = { name: "Key", kind: "api_key", role: "member", scopes: null, manager: false, user: user.id } as const
      return host.get(ApiKeys).mint(work, host.organization.id, keyOptions).text
    })
  })
  after(async () => {
    await host?.stop()
    await site?.close()
  })

  const read = async () => (await host.api<Shown>("GET", "/v1/evals/widget-canary", undefined, { key })).body
  /** Runs the canary on the current page and returns its result. */
  const looked = async (): Promise<Shown> => {
    const target = { widget: `http://${site.host}/shop`, widget_name: "Chat", selector: "#chat-widget", interval_minutes: 5 }
    await host.api("PATCH", "/v1/evals/widget-canary", target, { key })
    // One move only: the browser's deadline uses the same clock.
    await host.clock.move(60_000)
    await until("a check having ended", async () => (await read()).last_check_at !== "")
    return await read()
  }
  const alarms = async () => (await host.broadcasts("evals")).filter(({ event }) => event === "widget_canary_alarm").length

  it("passes while the widget is shown, and alarms when it is not there or its page is broken", async () => {
    expect(await looked()).to.include({ verdict: "passed", reason: "" })
    expect(await alarms()).to.equal(0)
    page = { status: 200, html: "<h1>Shop</h1><script>throw new Error('no widget')</script>" }
    const lost = await looked()
    expect(lost.verdict).to.equal("failed")
    expect(lost.reason).to.include("#chat-widget")
    page = { status: 500, html: withWidget }
    expect(await looked()).to.include({ verdict: "failed", reason: "The page answered 500." })
    // Sent after its commit, so a reader may see the result earlier.
    await until("both alarms", async () => (await alarms()) === 2)
  })
})
