// The console as people have it, in Chromium by the keyboard: signing in, an area made of its declarations, forms with the
// service's own words, the palette, and strangers' texts; judged by axe in light and dark, narrow and wide.
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { expect } from "chai"
import type { Browser, BrowserContext, Page } from "playwright-core"
import { type TestHost, testHost } from "#core/testing"
import { launchChromium } from "../../chromium.ts"

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8")
const looks = [
  { colorScheme: "light", viewport: { width: 1_280, height: 800 } },
  { colorScheme: "dark", viewport: { width: 320, height: 640 } },
] as const

describe("the console", () => {
  let host: TestHost
  let browser: Browser
  before(async () => {
    host = await testHost()
    // With processes of its own for each page, and with the rules of origins, which the service's own flags turn off.
    browser = await launchChromium(["--no-sandbox"])
  })
  after(async () => {
    await browser.close()
    await host.stop()
  })

  const opened: { context: BrowserContext; said: string[]; elsewhere: string[] }[] = []
  afterEach(async () => {
    for (const { context, said, elsewhere } of opened.splice(0)) {
      await context.close()
      expect(said, "the browser's log").to.deep.equal([])
      expect(elsewhere, "requests to elsewhere").to.deep.equal([])
    }
  })
  const open = async (path: string, look: (typeof looks)[number] = looks[0]): Promise<Page> => {
    const context = await browser.newContext({ ...look, bypassCSP: false })
    const page = await context.newPage()
    const [said, elsewhere]: [string[], string[]] = [[], []]
    // What is refused on purpose, the browser reports by itself.
    page.on("console", (message) => void (/status of 40[013]/.test(message.text()) || said.push(message.text())))
    page.on("pageerror", (error) => void said.push(String(error)))
    page.on("request", (request) => void (request.url().startsWith(host.url) || elsewhere.push(request.url())))
    opened.push({ context, said, elsewhere })
    await page.goto(host.url + path)
    return page
  }
  const signedIn = async (path: string, key = host.adminKey, look: (typeof looks)[number] = looks[0]) => {
    const page = await open(path, look)
    await page.getByLabel("API key").focus()
    await page.keyboard.type(key)
    await page.keyboard.press("Enter")
    await page.getByRole("navigation", { name: "Areas" }).waitFor()
    return page
  }
  /** By the debugger's protocol, which the page's policy does not hold. */
  const violations = async (page: Page) => {
    await page.evaluate(axe)
    return await page.evaluate(async () => {
      const { run } = (
        globalThis as unknown as { axe: { run: (options: object) => Promise<{ violations: { id: string; nodes: { html: string }[] }[] }> } }
      ).axe
      const { violations: found } = await run({ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] })
      return found.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`)
    })
  }

  it("is signed in to by a key, goes on where the address says, and is signed out of", async () => {
    const page = await open("/console/datasets")
    await page.getByLabel("API key").fill("mr_api_wrong")
    await page.keyboard.press("Enter")
    await page.getByRole("alert").getByText("The key is not one of this service").waitFor()
    await page.getByLabel("API key").fill(host.adminKey)
    await page.keyboard.press("Enter")
    await page.getByRole("heading", { name: "datasets" }).waitFor()
    expect(await page.evaluate("JSON.stringify([document.cookie, { ...localStorage }, { ...sessionStorage }])")).to.equal('["",{},{}]')
    await page.reload()
    await page.getByRole("heading", { name: "datasets" }).waitFor()
    await page.getByRole("button", { name: "Sign out" }).press("Enter")
    await page.getByLabel("API key").waitFor()
    await page.reload()
    await page.getByLabel("API key").waitFor()
  })

  it("makes, shows and changes things of an area by forms of its operations, which say what is wrong at the field", async () => {
    const page = await signedIn("/console")
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
    await page
      .getByRole("link", { name: "Website leads" })
      .or(page.getByRole("link", { name: "website-leads" }))
      .first()
      .press("Enter")
    await page.getByRole("heading", { name: "website-leads" }).waitFor()
    expect(new URL(page.url()).pathname).to.equal("/console/datasets/website-leads")
    await page.getByText("The same by command and by HTTP").last().press("Enter")
    expect(await page.locator("main > .same pre").allTextContents()).to.deep.equal([
      "millrace datasets get website-leads",
      `curl '${host.url}/v1/datasets/website-leads' -H "authorization: Bearer $MILLRACE_KEY"`,
    ])
    await page.goBack()
    await page.getByRole("heading", { name: "datasets" }).waitFor()
  })

  it("shows what strangers wrote as text, and nothing that a role may not do", async () => {
    const hostile = `<img src=x onerror="document.title='hit'"><script>document.title='hit'</script>\u202Eevil`
    await host.api("POST", "/v1/datasets", { name: "Hostile", slug: "hostile", description: hostile })
    const made = await host.api<{ secret: string }>("POST", "/v1/api-keys", { name: "Reader", role: "guest" })
    const page = await signedIn("/console/datasets/hostile", made.body.secret)
    await page.getByText("onerror").waitFor()
    expect(await page.title()).to.equal("Millrace")
    expect(await page.locator("main img").count()).to.equal(0)
    expect(await page.getByRole("navigation", { name: "Areas" }).getByText("api keys").count()).to.equal(0)
    expect(await page.getByText("delete", { exact: true }).count()).to.equal(0)
  })

  it("is accessible, in light and dark, wide and narrow", async () => {
    for (const look of looks) {
      const page = await open("/console", look)
      await page.getByLabel("API key").waitFor()
      expect(await violations(page), "signing in").to.deep.equal([])
      await page.getByLabel("API key").fill(host.adminKey)
      await page.keyboard.press("Enter")
      await page.getByRole("navigation", { name: "Areas" }).waitFor()
      for (const path of ["/console", "/console/api_keys", "/console/datasets/-/datasets.create", "/console/event_pipelines"]) {
        await page.goto(host.url + path)
        await page.locator("main h1").waitFor()
        expect(await violations(page), `${path} ${look.colorScheme}`).to.deep.equal([])
        const sideways = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        expect(sideways, `${path} scrolls sideways`).to.equal(0)
      }
    }
  })
})
