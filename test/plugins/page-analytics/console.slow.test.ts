// The screens of analytics in Chromium: pictures of visitors' actions, their SQL, and custom queries.
import { expect } from "chai"
import { untilProcess as until } from "../../waiting.ts"
import { pluginSettings } from "../buckets/stores.ts"
import { consoleUnderTest } from "../console/browser.ts"
import { AnalyticsHost, event } from "./host.ts"

describe("the screens of analytics", () => {
  const testConsole = consoleUnderTest({ env: pluginSettings({ "page-analytics": { seal_every_ms: 100, deadline_ms: 60_000 } }) })
  before(async () => {
    const analytics = new AnalyticsHost(testConsole.host)
    const at = analytics.now
    const views = Array.from({ length: 40 }, (_, index) => ({ session_id: `s${index}`, variant: index % 2 ? "b" : "a", at }))
    await analytics.write([
      ...views.map((values) => event("pageview", values)),
      ...views.filter((_values, index) => index % 4 === 0).map((values) => event("lead", values)),
    ])
    await analytics.caughtUp()
  })

  it("draw what visitors did, with the numbers beside each picture", async () => {
    const page = await testConsole.signedIn("/console/page_analytics")
    const variants = page.getByRole("region", { name: "Conversion by variant" })
    await variants.locator("rect").first().waitFor()
    await page.getByRole("region", { name: "Funnel" }).locator("rect").first().waitFor()
    await testConsole.looksRight(page, "analytics")
    await variants.getByText("Numbers").press("Enter")
    await variants.getByRole("row", { name: "a 50%" }).waitFor()
    await variants.getByRole("link", { name: "SQL of this picture" }).press("Enter")
    await page.getByRole("region", { name: "Answer" }).getByText("2 rows").waitFor()
  })

  it("are of any page, found by a few letters of its title among more than a list's page holds", async () => {
    const { api } = testConsole.host
    const response = await api<{ id: string }>("POST", "/v1/pages", { title: "Zeppelins", variants: [{ key: "a", html: "<h1>Fly</h1>" }] })
    for (let n = 0; n < 205; n++) await api("POST", "/v1/pages", { title: `Many ${n}`, variants: [{ key: "a", html: "<h1>One</h1>" }] })
    const page = await testConsole.signedIn("/console/page_analytics", { mayFail: true })
    const offered = page.locator("datalist option[label=Zeppelins]")
    await offered.waitFor({ state: "attached" })
    await page.getByLabel("page").fill(String(await offered.getAttribute("value")))
    await page.keyboard.press("Enter")
    const link = page.getByRole("region", { name: "Funnel" }).getByRole("link", { name: "SQL of this picture" })
    await until("the question of that page", async () => (await link.getAttribute("href"))?.includes(response.body.id) || undefined)
    expect(new URL(page.url()).searchParams.get("page")).to.equal("zeppelins")
    await page.getByLabel("page").fill("balloons")
    await page.keyboard.press("Enter")
    await page.getByRole("alert").getByText('The organization has no page "balloons"; GET /v1/pages lists them.').waitFor()
    await testConsole.looksRight(page, "analytics-of-no-page", (number) => number === 0)
  })

  it("answer questions in SQL, which stay in the address, and show what is wrong with one", async () => {
    const page = await testConsole.signedIn("/console/page_analytics/query")
    const write = async (text: string) => {
      await page.getByRole("textbox", { name: "SQL" }).focus()
      await page.keyboard.press("Control+a")
      await page.keyboard.insertText(text)
      await page.keyboard.press("Control+Enter")
    }
    await write("SELECT variant, count(*) AS sessions FROM sessions GROUP BY variant ORDER BY variant")
    await page.getByRole("table", { name: "Result" }).getByText("20").first().waitFor()
    await testConsole.looksRight(page, "analytics-query")
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
    const page = await testConsole.signedIn(`/console/page_analytics/query?${new URLSearchParams({ sql })}`)
    await page.getByRole("table", { name: "Result" }).getByText("40").waitFor()
    await testConsole.tabTo(page, "Name of a report")
    await page.keyboard.type("Sessions of the launch")
    await page.keyboard.press("Enter")
    await page.getByRole("heading", { name: "Sessions of the launch" }).waitFor()
    const analytics = new AnalyticsHost(testConsole.host)
    await analytics.write([event("pageview", { session_id: "later", variant: "a", at: analytics.now })])
    await analytics.caughtUp()
    await page.reload()
    await page.getByRole("table", { name: "Result" }).getByText("40").waitFor()
    await testConsole.looksRight(page, "analytics-report")
    await testConsole.tabTo(page, "As of now")
    await page.keyboard.press("Enter")
    await page.getByRole("table", { name: "Result" }).getByText("41").waitFor()
    await page.getByRole("link", { name: "Reports" }).press("Enter")
    await page.getByRole("link", { name: "Sessions of the launch" }).press("Enter")
    await page.getByRole("button", { name: "Delete" }).press("Enter")
    await page.getByRole("dialog").getByRole("button", { name: "Delete" }).press("Enter")
    await page.getByText("can be saved with a name").waitFor()
  })

  it("tell on the page's own screen who visited it, what became of them, and how it loaded for them", async () => {
    const { api } = testConsole.host
    const response = await api<{ id: string }>("POST", "/v1/pages", {
      title: "Spring offer",
      variants: [{ key: "a", html: "<h1>Spring</h1>" }],
    })
    const analytics = new AnalyticsHost(testConsole.host)
    const of = (session: number) => ({ session_id: `spring${session}`, artifact_id: response.body.id, at: analytics.now })
    const views = Array.from({ length: 8 }, (_, session) => of(session))
    const vitals = { LCP: 2_100, INP: 320, CLS: 0.4 }
    await analytics.write([
      ...views.map((values) => event("pageview", values)),
      ...views.slice(0, 2).map((values) => event("lead", values)),
      ...Object.entries(vitals).map(([vital_name, vital_value]) => event("web_vital", { ...of(0), vital_name, vital_value })),
    ])
    await analytics.caughtUp()
    const page = await testConsole.signedIn("/console/pages/spring-offer")
    await page.getByRole("heading", { name: "Spring offer" }).waitFor()
    await testConsole.tabTo(page, "Visitors")
    await page.keyboard.press("Enter")
    await page.getByText("LCP of three in four").waitFor()
    expect(await page.locator("main .figure").allTextContents()).to.deep.equal([
      "8visitors",
      "2leads",
      "25%of visitors became leads",
      "2.1 sLCP of three in four",
      "320 msINP of three in four",
      "0.40CLS of three in four",
    ])
    await page.getByRole("region", { name: "Funnel" }).locator("rect").first().waitFor()
    await testConsole.looksRight(page, "page-visitors")
    expect(new URL(page.url()).searchParams.get("part")).to.equal("visitors")
    await page.getByRole("link", { name: "SQL of these figures" }).press("Enter")
    await page.getByRole("region", { name: "Answer" }).getByText("1 row").waitFor()
  })
})
