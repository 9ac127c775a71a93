// The console as people have it, in Chromium by the keyboard: signing in, an area made of its declarations, forms with the
// service's own words, the palette, and strangers' texts; judged by axe in light and dark, narrow and wide.
import { expect } from "chai"
import { consoleUnderTest } from "./browser.ts"

describe("the console", () => {
  const shown = consoleUnderTest()

  it("is signed in to by a key, goes on where the address says, and is signed out of", async () => {
    const page = await shown.open("/console/datasets")
    await page.getByLabel("API key").fill("mr_api_wrong")
    await page.keyboard.press("Enter")
    await page.getByRole("alert").getByText("The key is not one of this service").waitFor()
    await page.getByLabel("API key").fill(shown.host.adminKey)
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
    const page = await shown.signedIn("/console")
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
      `curl '${shown.host.url}/v1/datasets/website-leads/rows' -H "authorization: Bearer $MILLRACE_KEY"`,
    ])
    await page.goBack()
    await page.getByRole("heading", { name: "datasets" }).waitFor()
  })

  it("shows what strangers wrote as text, and nothing that a role may not do", async () => {
    const hostile = `<img src=x onerror="document.title='hit'"><script>document.title='hit'</script>\u202Eevil`
    await shown.host.api("POST", "/v1/datasets", { name: "Hostile", slug: "hostile", description: hostile })
    const made = await shown.host.api<{ secret: string }>("POST", "/v1/api-keys", { name: "Reader", role: "guest" })
    const page = await shown.signedIn("/console/datasets/hostile", { key: made.body.secret })
    await page.getByText("onerror").waitFor()
    expect(await page.title()).to.equal("hostile · datasets · Millrace")
    expect(await page.locator("main img").count()).to.equal(0)
    expect(await page.getByRole("navigation", { name: "Areas" }).getByText("api keys").count()).to.equal(0)
    expect(await page.getByText("delete", { exact: true }).count()).to.equal(0)
  })

  it("is accessible, in light and dark, wide and narrow", async () => {
    const page = await shown.open("/console")
    await page.getByLabel("API key").waitFor()
    await shown.looksRight(page, "sign-in")
    await page.getByLabel("API key").fill(shown.host.adminKey)
    await page.keyboard.press("Enter")
    await page.getByRole("navigation", { name: "Areas" }).waitFor()
    for (const path of ["/console", "/console/api_keys", "/console/datasets/-/datasets.create", "/console/event_pipelines"]) {
      await page.goto(shown.host.url + path)
      await page.locator("main h1").waitFor()
      await shown.looksRight(page, path.slice(1).replaceAll("/", "_"))
    }
  })
})
