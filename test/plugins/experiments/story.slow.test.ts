// A complete experiment: three variants of a page, a panel, a tournament, feedback of two people, and visitors in a real
// Chromium, combined in one report.
import { expect } from "chai"
import { UnitsOfWork } from "#core"
import { testHost } from "#core/testing"
import type { Operations, OutputOf } from "../../../client/index.ts"
import { ApiKeys, Organizations } from "../../../plugins/platform/organizations/index.ts"
import { browserFolder, launchChromium } from "../../chromium.ts"
import { untilProcess as until } from "../../waiting.ts"
import { pluginSettings } from "../buckets/stores.ts"
import { type ModelRequest, type ModelServer, modelServer, type Said } from "../models/model-server.ts"
import { Chromium } from "../page-events/chromium.ts"
import { desktopChrome } from "../page-events/loop.ts"
import { type Page, Traffic } from "./live-traffic.ts"

type Report = OutputOf<Operations["experiments.report"]>

const merits = { plain: 1, fair: 3, bold: 5 } as const
type Key = keyof typeof merits
const visitors = 24

/** A model that reads each page's number and acts on it. */
const byMerit = ({ system, text }: ModelRequest): Said => {
  const read = [...text.matchAll(/saves (\d) hours/g)].map(([, hours]) => Number(hours))
  if (!system.includes("compare")) return { json: { answer: `It saves ${read[0]} hours.`, likelihood: read[0] ?? 1 } }
  const [a = 0, b = 0] = read
  return { json: { reasoning: `A saves ${a}, B saves ${b}.`, winner: a >= b ? "A" : "B", confidence: 0.8 } }
}

/** A script writes the claim, as on many pages. */
const html = (merit: number) =>
  `<h1>Invoices</h1><p id="claim"></p><button data-cta="try">Try it</button><script>claim.textContent = "It saves ${merit} hours a day."</script>`

describe("the story of an experiment", () => {
  let server: ModelServer
  let traffic: Traffic
  let browser: Chromium
  before(async () => {
    server = await modelServer()
    server.answer(byMerit)
    const model = { base_url: server.url, prices: { input: 1, output: 1 }, images: true }
    const settings = {
      models: { judge: { ...model, model: "judge-1" }, persona: { ...model, model: "persona-1" } },
      screenshots: { browser_folder: browserFolder },
      experiments: { sync_deadline_ms: 110_000 },
      "page-analytics": { seal_every_ms: 100, deadline_ms: 60_000 },
    }
    traffic = new Traffic(await testHost({ capture: false, env: pluginSettings(settings) }))
    browser = await Chromium.start()
  })
  after(async () => {
    await browser?.stop()
    await traffic?.stop()
    await server.close()
  })

  /** Creates a key of a new person in the organization. */
  const person = async (email: string): Promise<string> => {
    const { host } = traffic
    return await host.get(UnitsOfWork).run((work) => {
      const user = host.get(Organizations).addUser(work, { email })
      host.get(Organizations).addMember(work, host.organization.id, user.id, "member")
      const keyOptions = { name: email, kind: "api_key" as const, role: "member" as const, scopes: null, user: user.id }
      return host.get(ApiKeys).mint(work, host.organization.id, keyOptions).text
    })
  }

  /** Returns the number of a page's events in the dataset. */
  const reportEvent = async (page: string, event: string): Promise<number> => {
    const filter = encodeURIComponent(JSON.stringify({ artifact_id: page, event }))
    const { rows } = await traffic.call<{ rows: unknown[] }>("GET", `/v1/datasets/page-events/rows?limit=200&filter=${filter}`)
    return rows.length
  }

  let clicks = 0
  /** Opens the page as a visitor and clicks as often as it saves hours. */
  const visit = async ({ id, slug }: Page, number: number): Promise<Key> => {
    const { page, context, faults } = await browser.visitor({ userAgent: `${desktopChrome} Visitor/${number}` })
    await page.goto(`${traffic.host.url}/p/${traffic.host.organization.slug}/${slug}`)
    const claim = await page.textContent("#claim")
    const key = (Object.keys(merits) as Key[]).find((merit) => claim?.includes(` ${merits[merit]} hours`)) as Key
    const acts = number % 5 < merits[key]
    if (acts) await page.click("[data-cta=try]")
    await page.evaluate(
      "Object.defineProperty(document,'visibilityState',{value:'hidden'});document.dispatchEvent(new Event('visibilitychange'))",
    )
    // A closed context loses its unsent events.
    await until(`the view of visitor ${number}`, async () => (await reportEvent(id, "pageview")) === number + 1)
    if (acts) clicks++
    await until(`the clicks up to visitor ${number}`, async () => (await reportEvent(id, "cta_click")) === clicks)
    await context.close()
    expect(faults).to.deep.equal([])
    return key
  }

  it("leads to one report", async () => {
    const variants = (Object.keys(merits) as Key[]).map((key) => ({ key, html: html(merits[key]) }))
    const page = await traffic.call<Page>("POST", "/v1/pages", { title: "Invoices", variants })
    await traffic.call("POST", `/v1/pages/${page.slug}/publish`)
    const hypothesis = "Readers go by the hours that they save."
    const goal = { kind: "page_event", event: "cta_click", element: "try" }
    const { slug } = await traffic.call<{ slug: string }>("POST", "/v1/experiments", {
      name: "Hours saved",
      hypothesis,
      page: page.slug,
      goal,
    })
    for (const name of ["Founder", "Buyer"]) await traffic.call("POST", "/v1/personas", { name })
    await traffic.call("POST", `/v1/experiments/${slug}/panel`, { draws: 1 })
    await traffic.call("POST", `/v1/experiments/${slug}/tournament`, {})
    const message = { ada: "Bold is clear at once.", grace: "Plain says <nothing> to me." }
    for (const [name, feedback] of Object.entries(message)) {
      const item = { experiment_slug: slug, variant_key: name === "ada" ? "bold" : "plain", feedback }
      const key = await person(`${name}@example.com`)
      expect((await traffic.host.api("POST", "/v1/page-feedback", { items: [item] }, { key })).status).to.equal(200)
    }
    await traffic.call("POST", `/v1/experiments/${slug}/start`)
    const visited = new Map<Key, number>()
    for (let number = 0; number < visitors; number++) {
      const key = await visit(page, number)
      visited.set(key, (visited.get(key) ?? 0) + 1)
    }
    await traffic.counted()

    const report = await traffic.call<Report>("GET", `/v1/experiments/${slug}/report`)
    expect(report.panel?.ranking.map(({ variant_key, score }) => [variant_key, score])).to.deep.equal([
      ["bold", 5],
      ["fair", 3],
      ["plain", 1],
    ])
    expect(report.panel?.text_from).to.equal("browser")
    expect(report.tournament).to.deep.include({ outcome: "leader", leader_key: "bold", text_from: "browser", merges: [] })
    expect(report.feedback.map(({ variant_key, feedback }) => [variant_key, feedback])).to.deep.equal([
      ["bold", message.ada],
      ["plain", message.grace],
    ])
    expect(new Set(report.feedback.map(({ judge_slug }) => judge_slug)).size).to.equal(2)
    expect(report.live).to.deep.include({ source: "visitors" })
    const counted = report.live?.variants.map(({ variant_key, visitors }) => [variant_key, visitors])
    expect(counted).to.deep.equal(Object.keys(merits).map((key) => [key, visited.get(key as Key) ?? 0]))
    const bold = report.live?.variants.find(({ variant_key }) => variant_key === "bold")
    expect(bold?.conversions).to.equal(visited.get("bold"))

    const decision = { variant_key: "bold", rationale: "All evidence is for it." }
    await traffic.call("POST", `/v1/experiments/${slug}/decide`, decision)
    const decided = await traffic.call<Report>("GET", `/v1/experiments/${slug}/report`)
    expect(decided.live).to.deep.include({ source: "ledger", variants: report.live?.variants })
    expect(decided.experiment.decision).to.deep.include({ variant_key: "bold", reason: decision.rationale })
    const { judges } = await traffic.call<{ judges: { judge_slug: string; calibration: { experiments: number } }[] }>("GET", "/v1/judges")
    expect(judges.map(({ judge_slug, calibration }) => [judge_slug, calibration.experiments])).to.deep.equal([
      ["model:judge-1@judge-v1", 1],
      ["model:persona-1@panel", 1],
      ["persona:buyer", 1],
      ["persona:founder", 1],
    ])

    // Opened like a person would: as a file, in a browser without a session.
    const answer = await fetch(`${traffic.host.url}/v1/experiments/${slug}/report/export`, {
      headers: { Authorization: `Bearer ${traffic.host.adminKey}` },
    })
    const document = await answer.text()
    const reader = await launchChromium(["--no-sandbox"])
    try {
      const tab = await reader.newPage()
      await tab.setContent(document)
      expect(await tab.title()).to.equal("Hours saved: experiment report")
      const text = await tab.textContent("main")
      for (const words of [
        hypothesis,
        message.ada,
        message.grace,
        decision.rationale,
        "bold is proven to beat each rival.",
        "Conversion rate",
      ])
        expect(text).to.include(words)
      const heights = await tab.evaluate<number[]>(
        "[...document.querySelectorAll('svg.figure')].map((one) => one.getBoundingClientRect().height)",
      )
      expect(heights.length).to.be.at.least(4)
      expect(Math.min(...heights)).to.be.above(50)
      const folder = process.env["MILLRACE_TEST_PICTURES"]
      if (folder !== undefined) await tab.screenshot({ path: `${folder}/report.png`, fullPage: true })
    } finally {
      await reader.close()
    }
  })
})
