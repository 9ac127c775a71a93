// The console for people, in Chromium by keyboard: sign-in, an area made from its declarations, forms with the service's
// messages, the palette, and hostile texts. axe checks light and dark, narrow and wide.
import { expect } from "chai"
import type { Page } from "playwright-core"
import { Vault } from "#core"
import { createOperatorLink } from "../../../plugins/platform/identity/index.ts"
import newArea from "../../../templates/area/index.ts"
import { untilProcess as until } from "../../waiting.ts"
import { consoleUnderTest } from "./browser.ts"

describe("the console", () => {
  const testConsole = consoleUnderTest({ plugins: [newArea] })

  it("is signed in to by a key, goes on where the address says, and is signed out of", async () => {
    const page = await testConsole.open("/console/datasets")
    await page.getByLabel("API key").fill("mr_api_wrong")
    await page.keyboard.press("Enter")
    await page.getByRole("alert").getByText("The key is not one of this service").waitFor()
    await page.getByLabel("API key").fill(testConsole.host.adminKey)
    await page.keyboard.press("Enter")
    await page.getByRole("heading", { name: "datasets" }).waitFor()
    expect(await page.evaluate("JSON.stringify([document.cookie, { ...localStorage }, { ...sessionStorage }])")).to.equal('["",{},{}]')
    await page.reload()
    await page.getByRole("heading", { name: "datasets" }).waitFor()
    await page.getByRole("button", { name: "Sign out" }).press("Enter")
    await page.getByLabel("API key").waitFor()
    const refused: string[] = []
    page.on("response", (response) => void (response.ok() || refused.push(response.url())))
    await page.reload()
    await page.getByLabel("API key").waitFor()
    expect(refused, "what was asked without a session").to.deep.equal([])
  })

  it("makes, shows and changes things of an area by forms of its operations, which say what is wrong at the field", async () => {
    const page = await testConsole.signedIn("/console")
    await page.keyboard.press("Control+k")
    await page.keyboard.type("datasets: create")
    await page.keyboard.press("Enter")
    await page.getByRole("heading", { name: "create" }).waitFor()
    await page.getByRole("button", { name: "create" }).press("Enter")
    await page.getByLabel("name").and(page.locator("[aria-invalid=true]")).waitFor()
    await page.getByLabel("name").fill("Website leads")
    await page.keyboard.press("Enter")
    await page.getByRole("region", { name: "Answer" }).getByText("website-leads").first().waitFor()
    await page.keyboard.press("Control+k")
    await page.keyboard.type("datasets")
    await page.keyboard.press("Enter")
    await page.getByRole("link", { name: "Website leads" }).press("Enter")
    await page.getByRole("heading", { name: "Website leads" }).waitFor()
    expect(new URL(page.url()).pathname).to.equal("/console/datasets/website-leads")
    await page.getByText("The same by command and by HTTP").last().press("Enter")
    expect(await page.locator("main > .same pre").allTextContents()).to.deep.equal([
      "millrace datasets list-rows website-leads",
      `curl '${testConsole.host.url}/v1/datasets/website-leads/rows' -H "authorization: Bearer $MILLRACE_KEY"`,
    ])
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"])
    await page.getByRole("button", { name: "Copy command" }).last().press("Enter")
    await page.getByRole("button", { name: "Copied" }).waitFor()
    expect(await page.evaluate("navigator.clipboard.readText()")).to.equal("millrace datasets list-rows website-leads")
    // Simulates a page served by plain HTTP from another machine.
    await page.evaluate(
      `delete Navigator.prototype.clipboard; addEventListener("copy", ({ target }) => { globalThis.copied = target.value })`,
    )
    await page.getByRole("button", { name: "Copy HTTP" }).last().press("Enter")
    await page.getByRole("button", { name: "Copied" }).nth(1).waitFor()
    expect(await page.evaluate("copied")).to.include("/v1/datasets/website-leads/rows")
    expect(await page.evaluate("document.activeElement.textContent")).to.equal("Copied")
    await page.goBack()
    await page.getByRole("heading", { name: "datasets" }).waitFor()
  })

  it("has an area as `millrace new area` makes it, without a line for the console", async () => {
    const page = await testConsole.signedIn("/console")
    await testConsole.tabTo(page, "Sample name")
    await page.keyboard.press("Enter")
    await page.getByText("There is nothing here yet.").waitFor()
    await testConsole.tabTo(page, "Create")
    await page.keyboard.press("Enter")
    await page.getByLabel("name").fill("Birthday card")
    await page.keyboard.press("Enter")
    await page.getByRole("region", { name: "Answer" }).getByText("Birthday card").first().waitFor()
    await page.goto(`${testConsole.host.url}/console/sample_name`)
    await page.getByRole("link", { name: "Birthday card" }).press("Enter")
    await page.getByRole("heading", { name: "Birthday card" }).waitFor()
    await testConsole.looksRight(page, "new-area")
  })

  it("shows what strangers wrote as text, and nothing that a role may not do", async () => {
    const hostile = `<img src=x onerror="document.title='hit'"><script>document.title='hit'</script>\u202Eevil`
    await testConsole.host.api("POST", "/v1/datasets", { name: "Hostile", slug: "hostile", description: hostile })
    const response = await testConsole.host.api<{ secret: string }>("POST", "/v1/api-keys", { name: "Reader", role: "guest" })
    const page = await testConsole.signedIn("/console/datasets/hostile", { key: response.body.secret })
    await page.getByText("onerror").waitFor()
    expect(await page.title()).to.equal("hostile · Datasets · Millrace")
    expect(await page.locator("main img").count()).to.equal(0)
    expect(await page.getByRole("navigation", { name: "Areas" }).getByText("API keys").count()).to.equal(0)
    expect(await page.getByText("delete", { exact: true }).count()).to.equal(0)
  })

  it("shows one thing with the lists within it, and changes it by a form of its present values", async () => {
    const { api } = testConsole.host
    await api("POST", "/v1/workstreams", { title: "Autumn launch", description: "Pages and letters.", token_budget_millicents: 500_000 })
    await api("POST", "/v1/workstreams/autumn-launch/phases", { phase: "draft", title: "First draft" })
    const page = await testConsole.signedIn("/console/workstreams?status=draft")
    await page.getByRole("link", { name: "Autumn launch" }).waitFor()
    const headers = await page.getByRole("columnheader").allTextContents()
    expect(headers).to.deep.equal(["title", "status", "spent (millicents)", "token budget (millicents)", "updated"])
    expect(await page.getByLabel("status").locator("option").allTextContents())
      .to.include("draft")
      .and.not.include("")
    await testConsole.tabTo(page, "Autumn launch")
    await page.keyboard.press("Enter")
    const phases = page.getByRole("region", { name: "phases" }).first()
    await phases.getByRole("link", { name: "First draft" }).waitFor()
    await testConsole.tabTo(page, "Update")
    await page.keyboard.press("Enter")
    const form = page.getByRole("form", { name: "update" })
    const title = form.getByLabel("title")
    await title.waitFor()
    expect(new URL(page.url()).searchParams.get("do")).to.equal("workstreams.update")
    expect(await title.inputValue()).to.equal("Autumn launch")
    expect(await form.getByLabel("description").inputValue()).to.equal("Pages and letters.")
    await title.fill("Winter launch")
    await page.keyboard.press("Enter")
    await page.getByRole("dialog").getByText("It changes: title.").waitFor()
    await page.getByRole("dialog").getByRole("button", { name: "update" }).press("Enter")
    await page.getByRole("heading", { name: "Winter launch" }).waitFor()
    const read = await api<{ workstream: Record<string, unknown> }>("GET", "/v1/workstreams/autumn-launch")
    expect(read.body.workstream).to.include({ title: "Winter launch", description: "Pages and letters.", token_budget_millicents: 500_000 })
    await phases.getByRole("link", { name: "First draft" }).press("Enter")
    await page.getByRole("heading", { name: "First draft" }).waitFor()
    await page.getByRole("link", { name: "autumn-launch" }).press("Enter")
    await page.getByRole("heading", { name: "Winter launch" }).waitFor()
  })

  it("goes to things by their names, and looks for what is pasted", async () => {
    await testConsole.host.api("POST", "/v1/datasets", { name: "Autumn orders" })
    const page = await testConsole.signedIn("/console")
    await page.keyboard.press("Control+k")
    await page.keyboard.type("autumn or")
    await page.getByRole("option", { name: "Datasets: Autumn orders (autumn-orders)" }).waitFor()
    await page.keyboard.press("Enter")
    await page.getByRole("heading", { name: "Autumn orders" }).waitFor()
    await page.keyboard.press("Control+k")
    await page.keyboard.type("ada@example.com")
    await page.keyboard.press("Enter")
    await page.getByRole("heading", { name: "Events" }).waitFor()
    expect(new URL(page.url()).searchParams.get("find")).to.equal("ada@example.com")
  })

  it("goes to things beyond the first page of their list", async () => {
    const { api } = testConsole.host
    // The first page of datasets ends before it; the first page of workstreams has the newest.
    await api("POST", "/v1/datasets", { name: "Zeppelins" })
    await api("POST", "/v1/workstreams", { title: "Zinnias", description: "Flowers.", token_budget_millicents: 1 })
    for (let n = 0; n < 205; n++) {
      await api("POST", "/v1/datasets", { name: `Many ${n}` })
      await api("POST", "/v1/workstreams", { title: `Many ${n}`, description: "One of many.", token_budget_millicents: 1 })
    }
    const page = await testConsole.signedIn("/console")
    for (const [typed, option, heading] of [
      ["zepp", "Datasets: Zeppelins (zeppelins)", "Zeppelins"],
      ["zinn", "Workstreams: Zinnias (zinnias)", "Zinnias"],
    ] as const) {
      await page.keyboard.press("Control+k")
      await page.keyboard.type(typed)
      await page.getByRole("option", { name: option }).waitFor()
      await page.keyboard.press("Enter")
      await page.getByRole("heading", { name: heading }).waitFor()
    }
  })

  it("shows the present area in the bar of a narrow window, however it came there", async () => {
    const page = await testConsole.signedIn("/console/audit_log")
    const link = page.getByRole("navigation", { name: "Areas" }).getByRole("link", { name: "Audit log" })
    const isSeen = async () => {
      const [own, bar] = await Promise.all([link.boundingBox(), page.getByRole("navigation", { name: "Areas" }).boundingBox()])
      return (own && bar && own.x >= bar.x && own.x + own.width <= bar.x + bar.width) || undefined
    }
    await page.setViewportSize({ width: 320, height: 640 })
    await until("the area in the bar of a window that was wide", isSeen)
    await page.reload()
    await link.waitFor()
    await until("the area in the bar of a page that is loaded", isSeen)
    await page.keyboard.press("Control+k")
    await page.keyboard.type("overview")
    await page.keyboard.press("Enter")
    await page.locator("nav.areas a[aria-current]").getByText("Overview").waitFor()
    await until("the bar of another place, elsewhere", async () => (await isSeen()) === undefined || undefined)
    await page.goBack()
    await until("the area in the bar of a place that is gone back to", isSeen)
  })

  it("says that a session has ended, and goes on where it was", async () => {
    const response = await testConsole.host.api<{ id: string; secret: string }>("POST", "/v1/api-keys", { name: "Short", role: "member" })
    const page = await testConsole.signedIn("/console/personas", { key: response.body.secret })
    await page.getByText("There is nothing here yet.").waitFor()
    await testConsole.host.api("POST", `/v1/api-keys/${response.body.id}/revoke`)
    await page.getByRole("navigation", { name: "Areas" }).getByRole("link", { name: "Datasets" }).press("Enter")
    await page.getByRole("status").getByText("Your session has ended").waitFor()
    await page.getByLabel("API key").fill(testConsole.host.adminKey)
    await page.keyboard.press("Enter")
    await page.getByRole("dialog", { name: "Sign in" }).waitFor({ state: "detached" })
    await page.getByRole("heading", { name: "Datasets" }).waitFor()
    await page.getByRole("button", { name: "Sign out" }).press("Enter")
    await page.getByRole("status").getByText("You have signed out.").waitFor()
  })

  it("keeps what was written while the session ended, for the same person alone", async () => {
    const sessionOf = async (name: string, role: string) =>
      (await testConsole.host.api<{ id: string; secret: string }>("POST", "/v1/api-keys", { name, role })).body
    const short = await sessionOf("Short", "admin")
    const page = await testConsole.signedIn("/console/personas/-/personas.create", { key: short.secret })
    await page.getByLabel(/^name/).fill("Winter visitor")
    await testConsole.host.api("POST", `/v1/api-keys/${short.id}/revoke`)
    await page.keyboard.press("Enter")
    const over = page.getByRole("dialog", { name: "Sign in" })
    await over.getByRole("status").getByText("Your session has ended").waitFor()
    await testConsole.looksRight(page, "sign-in-again")
    await page.keyboard.press("Escape")
    await until("the focus in the field", async () => (await page.evaluate("document.activeElement.id")) === "email" || undefined)
    await over.getByLabel("API key").fill((await sessionOf("Long", "admin")).secret)
    await page.keyboard.press("Enter")
    await over.waitFor({ state: "detached" })
    expect(await page.getByLabel(/^name/).inputValue()).to.equal("Winter visitor")
    await page.keyboard.press("Enter")
    await page.getByRole("link", { name: "Look at it" }).waitFor()
    // Another press creates no second one.
    expect(await page.getByLabel(/^name/).inputValue()).to.equal("")

    // Another window of the same browser signs in as another person.
    const other = await page.context().newPage()
    await other.goto(`${testConsole.host.url}/console`)
    await other.getByRole("button", { name: "Sign out" }).press("Enter")
    await page.getByRole("heading", { name: "Millrace" }).waitFor()
    await other.getByLabel("API key").fill((await sessionOf("Guest", "guest")).secret)
    await other.keyboard.press("Enter")
    await page.getByRole("navigation", { name: "Areas" }).waitFor()
    expect(await page.getByText("Winter visitor").count()).to.equal(0)
  })

  it("reads again what two people change at once, keeps what was written, and leaves the focus where one works", async () => {
    await testConsole.host.api("POST", "/v1/personas", { name: "Shared visitor" })
    const path = "/console/personas/shared-visitor?do=personas.update"
    const [first, second] = [await testConsole.signedIn(path), await testConsole.signedIn(path, { mayFail: true })]
    const update = async (page: Page, field: string, text: string) => {
      const form = page.getByRole("form", { name: "Update" })
      await form.getByLabel(field).fill(text)
      await form.getByRole("button", { name: "Update" }).press("Enter")
      await page.getByRole("dialog").getByRole("button", { name: "Update" }).press("Enter")
    }
    const focused = async (page: Page) => String(await page.evaluate("document.activeElement.id || document.activeElement.textContent"))
    await update(first, "description", "Looks for a present.")
    await first.locator("dd").getByText("Looks for a present.").waitFor()
    await until("the focus in the content", async () => (await focused(first)) === "main" || undefined)
    await update(second, "goals", "Saves time.")
    await second.getByText("what you wrote is still here").waitFor()
    expect(await focused(second)).to.equal("Update")
    await until("what the other one wrote", async () => {
      return (await second.getByLabel("description").inputValue()) === "Looks for a present." || undefined
    })
    await update(second, "goals", "Saves much time.")
    await second.locator("dd").getByText("Saves much time.").waitFor()
    const { body } = await testConsole.host.api("GET", "/v1/personas/shared-visitor")
    expect(body).to.include({ description: "Looks for a present.", revision: 3 })
  })

  it("calls each place by its name, and says where nothing is", async () => {
    const page = await testConsole.signedIn("/console/datasets/-/datasets.create")
    for (const [path, title, heading] of [
      ["/console/datasets/-/datasets.create", "Create · Datasets · Millrace", "Create"],
      ["/console/event_pipelines", "Pipelines · Millrace", "Pipelines"],
      ["/console/nowhere", "Nowhere · Millrace", "Nothing is here"],
      ["/console/datasets/%E0%A4%A", "/datasets/%E0%A4%A · Millrace", "Nothing is here"],
      ["/console/conversations/nothing", "nothing · Conversations · Millrace", "Nothing is here"],
    ] as const) {
      await page.goto(testConsole.host.url + path)
      await page.getByRole("heading", { name: heading }).waitFor()
      expect(await page.title()).to.equal(title)
    }
    // In a form with many fields, optional fields are folded below their names.
    await page.goto(`${testConsole.host.url}/console/experiments/-/experiments.create`)
    const folded = page.getByText(/^\d more fields: .*hypothesis/)
    await folded.waitFor()
    expect(await page.getByLabel("name").isVisible()).to.equal(true)
    expect(await page.getByLabel("hypothesis").isVisible()).to.equal(false)
    await folded.press("Enter")
    await page.getByLabel("hypothesis").waitFor()
    await page.goto(`${testConsole.host.url}/console/integration_oauth_clients`)
    await page.getByRole("link", { name: "Set", exact: true }).press("Enter")
    await page.getByLabel(/^app/).waitFor()
  })

  it("takes and shows times as the reader's clock has them", async () => {
    const page = await testConsole.signedIn("/console")
    const debugging = await page.context().newCDPSession(page)
    await debugging.send("Emulation.setTimezoneOverride", { timezoneId: "Asia/Kolkata" })
    await page.goto(`${testConsole.host.url}/console/audit_log`)
    await page.getByLabel("since").fill("2026-11-27 09:00")
    const request = page.waitForRequest(/audit-log\?/)
    await page.keyboard.press("Enter")
    expect(new URL((await request).url()).searchParams.get("since")).to.equal("2026-11-27T03:30:00.000Z")
    expect(await page.getByLabel("since").inputValue()).to.equal("2026-11-27 09:00")
    await page.goto(`${testConsole.host.url}/console/api_keys/-/api_keys.create`)
    await page.getByLabel(/^name/).fill("Until new year")
    await page.getByLabel("expires at").fill("2099-01-01")
    await page.keyboard.press("Enter")
    await page.getByRole("region", { name: "Answer" }).getByText("2099-01-01 00:00:00").waitFor()
    const { body } = await testConsole.host.api<{ api_keys: { name: string; expires_at: string }[] }>("GET", "/v1/api-keys")
    expect(body.api_keys.find(({ name }) => name === "Until new year")?.expires_at).to.equal("2098-12-31T18:30:00.000Z")
    const old = await testConsole.host.api<{ id: string; secret: string }>("POST", "/v1/api-keys", { name: "Old" })
    await testConsole.host.api("POST", `/v1/api-keys/${old.body.id}/revoke`)
    await page.getByRole("button", { name: "Sign out" }).press("Enter")
    await page.getByLabel("API key").fill(old.body.secret)
    await page.keyboard.press("Enter")
    await page
      .getByRole("alert")
      .getByText(/revoked at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d;/)
      .waitFor()
  })

  it("goes back to where one was in a list", async () => {
    const { api } = testConsole.host
    for (let n = 0; n < 45; n++) await api("POST", "/v1/personas", { name: `One of many ${n}` })
    const page = await testConsole.signedIn("/console/personas")
    const link = page.getByRole("link", { name: "One of many 1", exact: true })
    await link.focus()
    const top = Number(await page.evaluate("scrollY"))
    expect(top).to.be.greaterThan(200)
    await page.keyboard.press("Enter")
    await page.getByRole("heading", { name: "One of many 1" }).waitFor()
    await page.goBack()
    await link.waitFor()
    await until("the same place of the list", async () => Number(await page.evaluate("scrollY")) === top || undefined)
  })

  it("takes the link of the first start in a window that is open already, and says why one signs in no more", async () => {
    const page = await testConsole.open("/console/datasets")
    await page.getByLabel("API key").waitFor()
    const follow = (code: string) => page.goto(`${testConsole.host.url}/console/datasets#code=${code}`)
    await follow("used-already")
    await page.getByRole("status").getByText("This link was used already").waitFor()
    expect(page.url()).to.not.include("code")
    await page.reload()
    await follow(createOperatorLink(testConsole.host.get(Vault), testConsole.host.clock.now(), { owner: true }))
    await page.getByLabel("Name", { exact: true }).fill("Ada")
    await page.getByLabel("Your email").fill("ada@example.com")
    await page.keyboard.press("Enter")
    const code = page.getByLabel("Code", { exact: true })
    await code.waitFor()
    testConsole.host.clock.move(1_000)
    const mail = await until("the code", () => testConsole.host.mails.find(({ to }) => to.includes("ada@example.com")))
    await code.fill(mail.subject.slice(0, 6))
    await page.keyboard.press("Enter")
    await page.getByRole("heading", { name: "Datasets" }).waitFor()
    expect(page.url()).to.not.include("code")
  })

  it("is accessible, in light and dark, wide and narrow", async () => {
    const page = await testConsole.open("/console")
    await page.getByLabel("API key").waitFor()
    await testConsole.looksRight(page, "sign-in")
    await page.getByLabel("API key").fill(testConsole.host.adminKey)
    await page.keyboard.press("Enter")
    await page.getByRole("navigation", { name: "Areas" }).waitFor()
    for (const path of ["/console", "/console/api_keys", "/console/datasets/-/datasets.create", "/console/event_pipelines"]) {
      await page.goto(testConsole.host.url + path)
      await page.locator("main h1").waitFor()
      await testConsole.looksRight(page, path.slice(1).replaceAll("/", "_"))
    }
  })
})
