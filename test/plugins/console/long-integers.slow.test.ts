// Integers beyond 2^53 in Chromium: shown with every digit, and sent with every digit or refused.
import { expect } from "chai"
import type { Page, Request } from "playwright-core"
import { untilProcess as until } from "../../waiting.ts"
import { consoleUnderTest } from "./browser.ts"

const long = "9007199254740993"
const remedy = "send it as text, in quotation marks"

describe("an integer beyond 2^53 in the console", () => {
  const testConsole = consoleUnderTest()
  let inbound = ""
  before(async () => {
    const { host } = testConsole
    const step = { id: "save", type: "dataset.write", dataset_slug: "orders" }
    const pipeline = { name: "Orders", source_kind: "custom_http", auth_mode: "none", state: "active", pipeline: [step] }
    const response = await host.api<{ inbound_url: string }>("POST", "/v1/event-pipelines", pipeline)
    expect(response.status, JSON.stringify(response.body)).to.equal(200)
    inbound = response.body.inbound_url
  })

  /** Resolves with the next call of this path. */
  const requestTo = (page: Page, path: string) =>
    page.waitForRequest((request: Request) => request.method() === "POST" && request.url().endsWith(path))
  const write = async (page: Page, label: string, text: string) => {
    await page.getByRole("textbox", { name: label }).click()
    await page.keyboard.press("Control+A")
    await page.keyboard.insertText(text)
  }

  it("keeps its digits in the unchanged payload of an event", async () => {
    const answer = await fetch(inbound, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: `{"id":${long},"small":1}`,
    })
    const { execution_id } = (await answer.json()) as { execution_id: string }
    const page = await testConsole.signedIn(`/console/events/${execution_id}`)
    await page.getByRole("region", { name: "Payload" }).getByText(`"id": ${long}`).waitFor()
    await page.goto(`${testConsole.host.url}/console/event_pipelines/orders?view=test&event=${execution_id}`)
    const editor = page.getByRole("textbox", { name: "Payload" })
    await editor.getByText(long).waitFor()
    const request = requestTo(page, "/v1/event-pipelines/orders/test")
    await page.getByRole("button", { name: "Run" }).click()
    // The event as read by the pipeline.
    expect((await request).postData()).to.include(`"id":"${long}"`)
    await page.getByRole("region", { name: "Outcome" }).getByText(long).first().waitFor({ state: "attached" })
  })

  it("is refused in a row with the field and the remedy", async () => {
    const page = await testConsole.signedIn("/console/datasets/orders?part=insert")
    await write(page, "Rows", `[{ "id": ${long} }]`)
    const request = requestTo(page, "/v1/datasets/orders/rows")
    await page.getByRole("button", { name: "Insert" }).click()
    expect((await request).postData()).to.include(`{"id":${long}}`)
    await page.getByRole("alert").getByText(remedy).waitFor()
  })

  it("is refused in place of an approved input", async () => {
    const { host } = testConsole
    const gated = { name: "Gated", source_kind: "internal", state: "active" }
    const step = { id: "ask", type: "http.request", gate: true, url: "https://crm.example.com/leads", body: { id: 1 } }
    expect((await host.api("POST", "/v1/event-pipelines", { ...gated, pipeline: [step] })).status).to.equal(200)
    await host.api("POST", "/v1/event-pipelines/gated/events", { payload: {} })
    const { id } = await until(
      "an approval",
      async () => (await host.api<{ approvals: { id: string }[] }>("GET", "/v1/approvals?state=pending")).body.approvals[0],
    )
    const page = await testConsole.signedIn(`/console/approvals/${id}`)
    await page.getByText("Approve with changes").first().click()
    await page.getByLabel("What is to be done instead, whole").fill(`{ "id": ${long} }`)
    await page.getByRole("button", { name: "Approve with changes" }).click()
    const request = requestTo(page, `/v1/approvals/${id}/decide`)
    await page.getByRole("dialog").getByRole("button", { name: "Approve with changes" }).click()
    expect((await request).postData()).to.include(`{"id":${long}}`)
    await page.getByRole("alert").getByText(remedy).waitFor()
    expect((await host.api<{ state: string }>("GET", `/v1/approvals/${id}`)).body.state).to.equal("pending")
  })

  it("is found in the document of a pipeline, at its line", async () => {
    const page = await testConsole.signedIn("/console/new-pipeline")
    await write(page, "Document", `name: Ids\npipeline:\n  - { type: respond, body: { id: ${long} } }\n`)
    await page.locator(".cm-lint-marker-error").first().hover()
    await page.getByText("put it in quotes").first().waitFor()
  })
})
