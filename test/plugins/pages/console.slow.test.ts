// The screens of pages in Chromium: pictures of variants, on S3 if available, and the isolation of a page's script.
import { expect } from "chai"
import { browserFolder } from "../../chromium.ts"
import { untilProcess as until } from "../../waiting.ts"
import { type S3Server, s3Available, startS3 } from "../buckets/s3-server.ts"
import { pluginSettings } from "../buckets/stores.ts"
import { consoleUnderTest } from "../console/browser.ts"

const hostile = `<h1>Spring</h1><script>try { top.document.title = "hit" } catch {} document.title = "hit"; fetch("/v1/me")</script>`

describe("the screens of pages", () => {
  let s3: S3Server | undefined
  const testConsole = consoleUnderTest(async () => {
    if (s3Available) s3 = await startS3()
    const screenshots = { browser_folder: browserFolder, deadline_ms: 300_000 }
    return { env: pluginSettings({ screenshots, ...(s3 ? { buckets: { s3: s3.settings } } : {}) }) }
  })
  before(async () => {
    const variants = [
      { key: "control", html: hostile },
      { key: "bold", html: "<h1>SPRING!</h1>" },
    ]
    await testConsole.host.api("POST", "/v1/pages", { title: "Spring <b>offer</b>", slug: "spring", variants })
  })
  after(() => s3?.stop())

  it("show a variant as a picture, whose script runs nowhere near the console", async () => {
    const page = await testConsole.signedIn("/console")
    await page.keyboard.press("Control+k")
    await page.keyboard.type("spring")
    await page.getByRole("option", { name: "Pages: Spring" }).waitFor()
    await page.keyboard.press("Enter")
    await page.getByRole("heading", { name: "Spring <b>offer</b>" }).waitFor()
    const variant = page.getByRole("region", { name: "Variant control" })
    await testConsole.tabTo(page, "Take a picture")
    await page.keyboard.press("Enter")
    const picture = variant.getByRole("img", { name: "variant control, 1280 pixels wide" })
    await picture.waitFor()
    const width = () => picture.evaluate((image) => (image as unknown as { naturalWidth: number }).naturalWidth)
    // Shown before it has loaded.
    expect(await until("the picture being loaded", width)).to.equal(1_280)
    expect(await page.title()).to.not.equal("hit")
    expect(await page.locator("iframe").count()).to.equal(0)
    await testConsole.looksRight(page, "page")
    await page.getByLabel("width in pixels").selectOption("360")
    await variant.getByRole("button", { name: "Take a picture" }).press("Enter")
    await variant.getByRole("img", { name: "360 pixels wide" }).waitFor()
    expect(new URL(page.url()).searchParams.get("width")).to.equal("360")
  })

  it("publish a page, and change it by a form with its present values", async () => {
    const page = await testConsole.signedIn("/console/pages/spring")
    await page.getByRole("button", { name: "Publish" }).press("Enter")
    await page.getByRole("link", { name: "Open as a visitor" }).waitFor()
    await testConsole.tabTo(page, "Change")
    await page.keyboard.press("Enter")
    const title = page.getByRole("textbox", { name: "title" })
    expect(await title.inputValue()).to.equal("Spring <b>offer</b>")
    await title.fill("Summer offer")
    await page.keyboard.press("Enter")
    await page.getByRole("dialog").getByText("It changes: title.").waitFor()
    await page.getByRole("dialog").getByRole("button", { name: "update" }).press("Enter")
    await page.getByRole("heading", { name: "Summer offer" }).waitFor()
    const { body } = await testConsole.host.api<{ variants: unknown[]; status: string }>("GET", "/v1/pages/spring")
    expect([body.variants.length, body.status]).to.deep.equal([2, "published"])
  })

  it("give an image to who has signed in or has a key of the organization, and to nobody else", async () => {
    const started = await testConsole.host.api<{ job_id: string }>("POST", "/v1/screenshot/start", { page: "spring", variant: "bold" })
    const path = `/v1/screenshot/images/${started.body.job_id}`
    const early = await testConsole.host.api("GET", path)
    expect(early.status).to.be.oneOf([200, 404])
    const nobody = await fetch(testConsole.host.url + path)
    expect([nobody.status, ((await nobody.json()) as { code: string }).code]).to.deep.equal([401, "unauthenticated"])
    const scoped = await testConsole.host.api<{ secret: string }>("POST", "/v1/api-keys", {
      name: "t",
      kind: "token",
      scopes: ["datasets:read"],
    })
    const refused = await testConsole.host.api<{ details: { reason: string } }>("GET", path, undefined, { key: scoped.body.secret })
    expect([refused.status, refused.body.details.reason]).to.deep.equal([403, "missing_scope"])
  })
})
