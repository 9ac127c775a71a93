// Screens of plugins in Chromium: each part of the console's offer by keyboard and in every look, and the behaviour while the
// service is stopped.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import { untilProcess as until } from "../../waiting.ts"
import { consoleUnderTest } from "./browser.ts"

const paths = `${import.meta.dirname}/sample`

describe("screens of plugins", () => {
  const testConsole = consoleUnderTest({ env: { MILLRACE_PLUGINS_PATHS: paths } })
  before(async () => {
    await testConsole.host.api("POST", "/v1/datasets", { name: "Website leads" })
  })

  it("stand in the navigation, load their script when they are shown, and keep filters in the address", async () => {
    const page = await testConsole.signedIn("/console")
    const loaded: string[] = []
    page.on("request", (request) => void loaded.push(new URL(request.url()).pathname))
    await page.getByRole("region", { name: "Sample card" }).getByText("1").waitFor()
    await testConsole.tabTo(page, "Sample")
    await page.keyboard.press("Enter")
    await page.getByRole("heading", { name: "Sample" }).waitFor()
    expect(loaded.filter((path) => path.startsWith("/console-assets/chunk-"))).to.not.deep.equal([])
    await page.getByRole("link", { name: "website-leads" }).waitFor()
    await testConsole.looksRight(page, "sample-lists")
    await testConsole.tabTo(page, "state")
    await page.keyboard.press("n")
    await until("the filter in the address", async () => new URL(page.url()).searchParams.get("state") === "new" || undefined)
    await page.reload()
    await page.getByText("State: new").waitFor()
    await testConsole.tabTo(page, "Pictures")
    await page.keyboard.press("Enter")
    await page.locator(".rates canvas").waitFor()
    await testConsole.looksRight(page, "sample-pictures")
  })

  it("draw rates in the colours of the look, in a browser of no language", async () => {
    const page = await testConsole.signedIn("/console")
    await page.addInitScript(`Object.defineProperty(Navigator.prototype, "language", { get: () => "en-US@posix", configurable: true })`)
    await page.goto(`${testConsole.host.url}/console/sample?part=two`)
    const colours = `[...document.querySelectorAll(".rates canvas")].map((canvas) => canvas.toDataURL()).join()`
    await page.locator(".rates canvas").waitFor()
    const light = String(await page.evaluate(colours))
    await page.emulateMedia({ colorScheme: "dark" })
    await until("other colours", async () => (await page.evaluate(colours)) !== light || undefined)
  })

  it("show a million rows with few of them in the document", async () => {
    const page = await testConsole.signedIn("/console/sample")
    const table = page.getByRole("table", { name: "A million numbers" })
    await table.focus()
    const cells = table.locator("[role=cell]:first-child")
    const first = async () => Number(await cells.first().textContent())
    const expectCount = async (what: string, isThere: (number: number) => boolean) =>
      await until(what, async () => ((await table.getByRole("row").count()) > 5 && isThere(await first())) || undefined)
    await page.keyboard.press("End")
    await expectCount("the end of the table", (number) => number > 999_900)
    // The browser scrolls in steps.
    await until("the last row", async () => (await cells.last().textContent()) === "999999" || undefined)
    expect(await table.getByRole("row").count()).to.be.below(80)
    // A page key moves one page, although the browser renders fewer rows than exist.
    await page.keyboard.press("PageUp")
    await expectCount("the page before", (number) => number < 999_960 && number > 999_900)
    await page.keyboard.press("Home")
    await expectCount("the start of the table", (number) => number === 0)
    await page.evaluate("{ const it = document.querySelector('main .virtual'); it.scrollTop = (it.scrollHeight - it.clientHeight) / 2 }")
    await expectCount("the middle of the table", (number) => Math.abs(number - 500_000) < 100)
  })

  it("edit documents with findings and completions, by the keyboard alone, and let it go by Tab", async () => {
    const page = await testConsole.signedIn("/console/sample/website-leads/edit")
    await page.getByRole("textbox", { name: "Document" }).waitFor()
    await testConsole.tabTo(page, "Document")
    await page.keyboard.press("Control+End")
    await page.keyboard.type("wrong: true\n")
    await page.locator(".cm-lint-marker-error").waitFor()
    await page.keyboard.type("stat")
    await page.getByRole("option", { name: "state_of_things" }).waitFor()
    await testConsole.looksRight(page, "sample-editor")
    await page.keyboard.press("Enter")
    await page.locator("[data-test=text]").getByText("state_of_things").waitFor()
    await page.keyboard.press("Control+Enter")
    await page.getByText("Run 1 times").waitFor()
    const adopted = await page.evaluate('document.querySelector(".editor").shadowRoot.adoptedStyleSheets.length')
    expect(adopted).to.be.greaterThan(0)
    await page.keyboard.press("Tab")
    expect(await page.evaluate("document.activeElement.className")).to.not.equal("editor")
  })

  it("are not there for who lacks an operation that they need, nor are buttons that would be refused", async () => {
    const response = await testConsole.host.api<{ secret: string }>("POST", "/v1/api-keys", { name: "Reader", role: "guest" })
    const page = await testConsole.signedIn("/console/sample", { key: response.body.secret })
    await page.getByRole("link", { name: "website-leads" }).waitFor()
    expect(await page.getByRole("button", { name: "Make" }).count()).to.equal(0)
    await page.goto(`${testConsole.host.url}/console/sample/secret`)
    await page.getByRole("heading").first().waitFor()
    expect(await page.getByRole("heading", { name: "Sample" }).count()).to.equal(0)
  })
})

describe("the console while its service is away", () => {
  const dataDir = mkdtempSync(join(tmpdir(), "millrace-console-"))
  const testConsole = consoleUnderTest({ env: { MILLRACE_PLUGINS_PATHS: paths }, dataDir })
  after(() => rmSync(dataDir, { recursive: true }))

  it("says so, goes on by itself, and loses no live message", async () => {
    await testConsole.host.api("POST", "/v1/event-pipelines", {
      name: "Things",
      state: "active",
      source_kind: "internal",
      pipeline: [{ id: "tell", type: "live.broadcast", channel: "things" }],
    })
    const send = async (name: string) => {
      const { status } = await testConsole.host.api("POST", "/v1/event-pipelines/things/events", { payload: { name } })
      expect(status).to.be.below(300)
    }
    const page = await testConsole.signedIn("/console/sample", { mayFail: true })
    await page.getByText("listening:").waitFor()
    await send("early")
    await page.getByText("listening: early").waitFor()
    await testConsole.stopService()
    await page.getByRole("alert").getByText("Connection lost, trying again").waitFor()
    await testConsole.startService()
    await send("meanwhile")
    await page.getByText("listening: early, meanwhile").waitFor()
    await page.getByText("Connection lost").waitFor({ state: "detached" })
    await send("later")
    await page.getByText("listening: early, meanwhile, later").waitFor()
  })

  it("does nothing twice where an answer was lost, however often the button is pressed", async () => {
    const page = await testConsole.signedIn("/console/sample", { mayFail: true })
    let completed = 0
    await page.route("**/v1/datasets", async (route) => {
      if (route.request().method() !== "POST") return route.continue()
      await route.fetch()
      completed++
      return route.abort()
    })
    const press = async () => {
      await testConsole.tabTo(page, "Make")
      await page.keyboard.press("Enter")
      await page.getByRole("dialog").getByRole("button", { name: "Make" }).press("Enter")
    }
    await press()
    await page.getByRole("alert").getByText("cannot be reached").first().waitFor()
    expect(completed).to.be.at.least(1)
    await page.unroute("**/v1/datasets")
    await press()
    await page.getByRole("link", { name: "made-by-a-button" }).waitFor()
    const response = await testConsole.host.api<{ datasets: { slug: string }[] }>("GET", "/v1/datasets")
    expect(response.body.datasets.map(({ slug }) => slug)).to.deep.equal(["made-by-a-button"])
  })
})
