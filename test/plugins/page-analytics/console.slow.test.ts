// The screens of analytics in Chromium: pictures of what visitors did, the SQL behind each, and questions of one's own.
import { expect } from "chai"
import { until } from "../../waiting.ts"
import { pluginSettings } from "../buckets/stores.ts"
import { consoleUnderTest } from "../console/browser.ts"
import { AnalyticsHost, event } from "./host.ts"

describe("the screens of analytics", () => {
  const shown = consoleUnderTest({ env: pluginSettings({ "page-analytics": { seal_every_ms: 100, deadline_ms: 60_000 } }) })
  before(async () => {
    const analytics = new AnalyticsHost(shown.host)
    const at = analytics.now
    const seen = Array.from({ length: 40 }, (_, index) => ({ session_id: `s${index}`, variant: index % 2 ? "b" : "a", at }))
    await analytics.write([
      ...seen.map((values) => event("pageview", values)),
      ...seen.filter((_values, index) => index % 4 === 0).map((values) => event("lead", values)),
    ])
    await analytics.caughtUp()
  })

  it("draw what visitors did, with the numbers beside each picture", async () => {
    const page = await shown.signedIn("/console/page_analytics")
    const variants = page.getByRole("region", { name: "Conversion by variant" })
    await variants.locator("rect").first().waitFor()
    await page.getByRole("region", { name: "Funnel" }).locator("rect").first().waitFor()
    await shown.looksRight(page, "analytics")
    await variants.getByText("Numbers").press("Enter")
    await variants.getByRole("row", { name: "a 50%" }).waitFor()
    await variants.getByRole("link", { name: "SQL of this picture" }).press("Enter")
    await page.getByRole("region", { name: "Answer" }).getByText("2 rows").waitFor()
  })

  it("answer questions in SQL, which stay in the address, and show what is wrong with one", async () => {
    const page = await shown.signedIn("/console/page_analytics/query")
    const write = async (text: string) => {
      await page.getByRole("textbox", { name: "SQL" }).focus()
      await page.keyboard.press("Control+a")
      await page.keyboard.insertText(text)
      await page.keyboard.press("Control+Enter")
    }
    await write("SELECT variant, count(*) AS sessions FROM sessions GROUP BY variant ORDER BY variant")
    await page.getByRole("table", { name: "Result" }).getByText("20").first().waitFor()
    await shown.looksRight(page, "analytics-query")
    await page.reload()
    await page.getByRole("table", { name: "Result" }).getByText("20").first().waitFor()
    await write("SELECT nothing FROM nowhere")
    await page.getByRole("alert").getByText("nowhere").waitFor()
    expect(await until("the question in the address", async () => new URL(page.url()).searchParams.get("sql") ?? undefined)).to.equal(
      "SELECT nothing FROM nowhere",
    )
  })

  it("save an answer with a name, show the same rows later and those of now, and delete it", async () => {
    const sql = "SELECT count(*) AS sessions FROM sessions"
    const page = await shown.signedIn(`/console/page_analytics/query?${new URLSearchParams({ sql })}`)
    await page.getByRole("table", { name: "Result" }).getByText("40").waitFor()
    await shown.tabTo(page, "Name of a report")
    await page.keyboard.type("Sessions of the launch")
    await page.keyboard.press("Enter")
    await page.getByRole("heading", { name: "Sessions of the launch" }).waitFor()
    const analytics = new AnalyticsHost(shown.host)
    await analytics.write([event("pageview", { session_id: "later", variant: "a", at: analytics.now })])
    await analytics.caughtUp()
    await page.reload()
    await page.getByRole("table", { name: "Result" }).getByText("40").waitFor()
    await shown.looksRight(page, "analytics-report")
    await shown.tabTo(page, "As of now")
    await page.keyboard.press("Enter")
    await page.getByRole("table", { name: "Result" }).getByText("41").waitFor()
    await page.getByRole("link", { name: "Reports" }).press("Enter")
    await page.getByRole("link", { name: "Sessions of the launch" }).press("Enter")
    await page.getByRole("button", { name: "Delete" }).press("Enter")
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).press("Enter")
    await page.getByText("can be saved with a name").waitFor()
  })
})
