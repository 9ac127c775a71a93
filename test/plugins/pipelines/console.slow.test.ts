// The screens of pipelines in Chromium: the list, the graph, the editor, a trial, secrets, drift, a new pipeline, and incoming
// events.
import { createHmac } from "node:crypto"
import { expect } from "chai"
import type { Page } from "playwright-core"
import { Bench, type Made, post } from "../../pipeline/bench.ts"
import { untilProcess as until } from "../../waiting.ts"
import { consoleUnderTest } from "../console/browser.ts"

const hostile = `<img src=x onerror="document.title='hit'">\u202Eevil`
const sign = (secret: string, body: string) => ({
  "x-signature-256": `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`,
})

describe("the screens of pipelines", () => {
  const testConsole = consoleUnderTest()
  let leads: Made
  let orders: Made
  before(async () => {
    const bench = new Bench(testConsole.host)
    leads = await bench.make({
      name: "Website leads",
      request_schema: { type: "object", required: ["email"], properties: { email: { type: "string" } }, additionalProperties: false },
      transform_js: "function transform(event) { return event }",
      pipeline: [
        { id: "save", type: "dataset.write", dataset_slug: "leads", key: "email" },
        { id: "tell", type: "live.broadcast", channel: "leads", data: { email: "{{ event.email }}" } },
      ],
    })
    orders = await bench.make({ name: hostile, slug: "orders", auth_mode: "hmac_sha256", pipeline: [] })
    expect((await post(leads.inbound_url, '{"email":"ada@example.com"}')).status).to.equal(200)
    for (const n of [1, 2]) expect((await post(leads.inbound_url, `{"email":"ada@example.com","coupon":"C${n}"}`)).status).to.equal(400)
    const body = '{"n":1}'
    expect((await post(orders.inbound_url, body, sign(orders.secret ?? "", body))).status).to.equal(200)
  })

  it("list them with what came, and draw one", async () => {
    const page = await testConsole.signedIn("/console/event_pipelines")
    const row = page.getByRole("row").filter({ hasText: "Website leads" })
    await until("the counts", async () => ((await row.textContent()) ?? "").includes("12") || undefined)
    await page.getByText("onerror").waitFor()
    await testConsole.looksRight(page, "pipelines")
    await testConsole.tabTo(page, "Website leads")
    await page.keyboard.press("Enter")
    await page.getByRole("heading", { name: "Website leads" }).waitFor()
    const picture = page.locator("img")
    await picture.waitFor()
    const width = "document.querySelector('main img').decode().then(() => document.querySelector('main img').naturalWidth)"
    expect(await page.evaluate(width)).to.be.greaterThan(200)
    await page.getByRole("row").filter({ hasText: "dataset.write" }).waitFor()
    await testConsole.looksRight(page, "pipeline-graph")
    expect(await page.title()).to.not.equal("hit")
  })

  it("edit one with the service's own findings, show what would change, and apply it", async () => {
    const page = await testConsole.signedIn("/console/event_pipelines/website-leads")
    await testConsole.tabTo(page, "Document")
    await page.keyboard.press("Enter")
    const editor = page.getByRole("textbox", { name: "Document" })
    await editor.waitFor()
    await rewrite(page, "Document", (text) => text.replace("type: dataset.write", "type: dataset.wriet"))
    await until("a finding at its line", async () => (await page.locator(".cm-lint-marker-error").count()) > 0 || undefined)
    await rewrite(page, "Document", (text) =>
      text.replace("dataset.wriet", "dataset.write").replace("name: Website leads", "name: Leads of the site"),
    )
    await editor.press("Control+Enter")
    const plan = page.getByRole("region", { name: "Plan", exact: true })
    await plan.getByText("1 field changes: name.").waitFor()
    await plan.getByRole("region", { name: "name after" }).getByText("Leads of the site").waitFor()
    await testConsole.looksRight(page, "pipeline-plan")
    await page
      .locator(".same")
      .filter({ hasText: "event_pipelines.update" })
      .getByText("--name 'Leads of the site'")
      .waitFor({ state: "attached" })
    // Another user was faster: the typed text stays, and the plan compares it with the current version.
    await testConsole.host.invoke("event_pipelines.update", { slug: "website-leads", state: "disabled" })
    await testConsole.tabTo(page, "Apply as revision 2")
    await page.keyboard.press("Enter")
    await page.getByRole("alert").getByText("revision").waitFor()
    await editor.getByText("name: Leads of the site").waitFor()
    await editor.press("Control+Enter")
    await plan.getByText("2 fields change: name, state.").waitFor()
    await testConsole.tabTo(page, "Apply as revision 3")
    await page.keyboard.press("Enter")
    await page.getByText("Saved as revision 3.").waitFor()
    const { body } = await testConsole.host.api<{ name: string; revision: number; pipeline: unknown[] }>(
      "GET",
      "/v1/event-pipelines/website-leads",
    )
    expect([body.name, body.revision, body.pipeline.length]).to.deep.equal(["Leads of the site", 3, 2])
  })

  it("complete fields by the schema", async () => {
    const page = await testConsole.signedIn("/console/new-pipeline")
    const editor = page.getByRole("textbox", { name: "Document" })
    await editor.waitFor()
    await editor.press("Control+End")
    await page.keyboard.insertText("  - type: respond\n    ")
    await page.keyboard.type("sta")
    await page.locator(".cm-tooltip-autocomplete").getByText("status", { exact: true }).waitFor()
    await page.keyboard.press("Escape")
    await rewrite(page, "Document", () => "name: Shop\nauth_mode: hmac_sha256\npipeline: []\n")
    await testConsole.tabTo(page, "Create")
    await page.keyboard.press("Enter")
    await page.getByText("The secret, shown this once:").waitFor()
    await testConsole.looksRight(page, "pipeline-new")
    await page.getByRole("link", { name: "Shop" }).press("Enter")
    await page.getByRole("heading", { name: "Shop" }).waitFor()
    expect(await page.getByText("shown this once").count()).to.equal(0)
  })

  it("try an earlier event, and change nothing", async () => {
    const page = await testConsole.signedIn("/console/event_pipelines/website-leads?view=test")
    await page.getByRole("combobox", { name: "an earlier event" }).selectOption({ index: 1 })
    await testConsole.tabTo(page, "Run")
    const executions = async () => {
      const { body } = await testConsole.host.api<{ executions: unknown[] }>("GET", "/v1/event-pipelines/website-leads/executions")
      return body.executions.length
    }
    const before = await executions()
    await page.keyboard.press("Enter")
    await page.getByRole("region", { name: "Outcome" }).waitFor()
    await testConsole.looksRight(page, "pipeline-test")
    expect(await executions()).to.equal(before)
  })

  it("take drift into the schema, over the editor", async () => {
    const page = await testConsole.signedIn("/console/event_pipelines/website-leads?view=drift")
    await page.getByRole("row").filter({ hasText: "/coupon" }).first().waitFor()
    await testConsole.looksRight(page, "pipeline-drift")
    await testConsole.tabTo(page, "Take it into the schema")
    await page.keyboard.press("Enter")
    const editor = page.getByRole("textbox", { name: "Document" })
    await editor.getByText("coupon:").waitFor()
    await editor.press("Control+Enter")
    await page.getByRole("region", { name: "Plan", exact: true }).getByText("request_schema").first().waitFor()
  })

  it("rotate a secret, and end the old one with what that would have cost", async () => {
    const page = await testConsole.signedIn("/console/event_pipelines/orders?view=secrets")
    const rotate = page.getByRole("region", { name: "Rotate" })
    await rotate.waitFor()
    await rotate.getByRole("button", { name: "Rotate" }).press("Enter")
    await page.getByRole("dialog").getByRole("button", { name: "Rotate" }).press("Enter")
    await page.getByText("The secret, shown this once:").waitFor()
    await page.getByText("may still be in use").waitFor()
    await testConsole.looksRight(page, "pipeline-secrets")
    await page.getByRole("button", { name: "End", exact: true }).press("Enter")
    await page.getByRole("dialog").getByText("1 event of the last hour would have failed without it.").waitFor()
    await page.getByRole("dialog").getByRole("button", { name: "End it" }).press("Enter")
    await page.getByText("may still be in use").waitFor({ state: "detached" })
    await page.goto(`${testConsole.host.url}/console/event_pipelines/orders?view=sender`)
    await page.getByText(orders.inbound_url).first().waitFor()
    await testConsole.looksRight(page, "pipeline-sender")
  })

  it("take a secret that the sender made, where there is none yet", async () => {
    const document = { name: "Payments", auth_mode: "provider_signature", auth_config: { provider: "stripe" }, pipeline: [] }
    const { slug } = await new Bench(testConsole.host).make(document)
    const page = await testConsole.signedIn(`/console/event_pipelines/${slug}?view=secrets`)
    await page.getByText("no event verifies").waitFor()
    await testConsole.tabTo(page, "the sender's secret")
    await page.keyboard.type("whsec_of-the-sender")
    await page.keyboard.press("Enter")
    await page.getByRole("dialog").getByRole("button", { name: "Give" }).press("Enter")
    await page.getByRole("region", { name: "Secrets", exact: true }).last().getByText("current").waitFor()
    expect(await page.locator("main").textContent()).to.not.include("whsec_of-the-sender")
  })

  it("show a member no button that is refused", async () => {
    const { body } = await testConsole.host.api<{ secret: string }>("POST", "/v1/api-keys", { name: "Member", role: "member" })
    const page = await testConsole.signedIn("/console/event_pipelines/orders", { key: body.secret })
    const views = page.getByRole("navigation", { name: "Views" })
    await views.waitFor()
    expect(await views.getByRole("link").allTextContents()).to.deep.equal(["Graph", "Document", "Test", "Drift", "Sending", "Send"])
  })

  it("show what comes in on the overview, at the hours of the reader's clock", async () => {
    const page = await testConsole.signedIn("/console/event_pipelines")
    const debugging = await page.context().newCDPSession(page)
    await debugging.send("Emulation.setTimezoneOverride", { timezoneId: "Asia/Kolkata" })
    await page.addInitScript(noteDrawn)
    await page.goto(`${testConsole.host.url}/console`)
    const card = page.getByRole("region", { name: "Events a minute" })
    await card.getByText("rejected in the last hour").waitFor()
    await card.locator("canvas").waitFor()
    await card.getByRole("link", { name: "website-leads" }).waitFor()
    const hours = await until("hours being drawn", async () => {
      const drawn = ((await page.evaluate("drawn")) as string[]).filter((text) => text.includes(":"))
      return drawn.length > 1 && drawn
    })
    // The last hour at the time of drawing, possibly some minutes ago.
    const { minutes } = await testConsole.host.invoke<{ minutes: { at: string }[] }>("event_pipelines.activity", { minutes: 70 })
    const clock = new Intl.DateTimeFormat("en-GB", { timeZone: "Asia/Kolkata", hour: "2-digit", minute: "2-digit" })
    expect(minutes.map(({ at }) => clock.format(new Date(at)))).to.include.members(hours)
    await testConsole.looksRight(page, "overview-events")
  })
})

/** Records texts drawn on canvases. */
const noteDrawn = `{
  globalThis.drawn = []
  const write = CanvasRenderingContext2D.prototype.fillText
  CanvasRenderingContext2D.prototype.fillText = function (text, ...more) {
    drawn.push(text)
    return write.call(this, text, ...more)
  }
}`

/** Replaces the whole text, like a user who selects all. */
async function rewrite(page: Page, name: string, change: (text: string) => string): Promise<void> {
  const editor = page.getByRole("textbox", { name })
  const text = (await editor.locator(".cm-line").allInnerTexts()).map((line) => (line === "\n" ? "" : line)).join("\n")
  await editor.press("Control+a")
  await page.keyboard.insertText(change(text))
}
