// The screens of experiments in Chromium: a report with all kinds of evidence, a decision by keyboard, and a member's rights.
import { expect } from "chai"
import { Store, UnitsOfWork } from "#core"
import { ExperimentResource, type StoredExperiment } from "../../../plugins/pages/experiments/experiment.ts"
import { Ledger } from "../../../plugins/pages/experiments/ledger.ts"
import { pluginSettings } from "../buckets/stores.ts"
import { consoleUnderTest } from "../console/browser.ts"
import { type ModelRequest, type ModelServer, modelServer, type Said } from "../models/model-server.ts"
import { Traffic } from "./live-traffic.ts"

const markup = `<img src=x onerror="document.title='hit'"><script>document.title='hit'</script>`
const hostile = `${markup}\u202Eevil ${"unbroken-".repeat(30)}`
const dayMs = 86_400_000

const judge = ({ system, text }: ModelRequest): Said => {
  const merits = [...text.matchAll(/merit (\d+)/g)].map(([, merit]) => Number(merit))
  if (!system.includes("compare")) return { json: { answer: hostile, likelihood: merits[0] ?? 1 } }
  const [a = 0, b = 0] = merits
  return { json: { reasoning: hostile, winner: a >= b ? "A" : "B", confidence: 0.9 } }
}

describe("the screens of experiments", () => {
  let server: ModelServer
  let traffic: Traffic
  const testConsole = consoleUnderTest(async () => {
    server = await modelServer()
    server.answer(judge)
    const model = { base_url: server.url, prices: { input: 1, output: 1 } }
    const settings = JSON.parse(Traffic.settings()["MILLRACE_PLUGINS_SETTINGS"] ?? "{}") as object
    const models = { judge: { ...model, model: "judge-1" }, persona: { ...model, model: "persona-1" } }
    const experiments = { render_pages: false, sync_deadline_ms: 60_000 }
    return { env: pluginSettings({ ...settings, models, experiments }), capture: false }
  })
  before(async () => {
    const { host } = testConsole
    traffic = new Traffic(host)
    const variants = ["<h1>Merit: merit 1</h1>", "<h1>Merit: merit 5</h1>"]
    const { page, slug } = await traffic.running(`Headlines ${markup}`, { slug: "headlines", hypothesis: hostile }, variants)
    for (const name of ["Founder", "Buyer"]) await host.api("POST", "/v1/personas", { name })
    await host.api("POST", `/v1/experiments/${slug}/panel`, { draws: 2 })
    await host.api("POST", `/v1/experiments/${slug}/tournament`, { criteria: `Which has more merit? ${hostile}` })
    await host.api("POST", "/v1/page-feedback", { items: [{ experiment_slug: slug, variant_key: "a", feedback: hostile }] })
    await traffic.write([...traffic.rowsOf(page, "a", { n: 300, leads: 30 }), ...traffic.rowsOf(page, "b", { n: 310, leads: 93 })])
    host.clock.move(8 * dayMs)
    await traffic.counted()
    // The ledger entry of a change of weights by the evidence.
    const organization = host.organization.id
    const match = (await host.get(Store).open(ExperimentResource.collection, organization).first({ slug })) as StoredExperiment
    const details = { chances: { a: 0.013, b: 0.987 } }
    await host
      .get(UnitsOfWork)
      .run(async (work) => host.get(Ledger).add(work, organization, match, { kind: "live", judge_slug: "live:allocation", details }))
    await host.api("POST", "/v1/experiments", { name: "Second", page: page.slug })
  })
  after(() => server.close())

  it("show all evidence side by side, strangers' texts as texts, and take a decision by the keyboard", async () => {
    const page = await testConsole.signedInAsOwner("/console/experiments?status=running")
    await page.getByRole("table").getByText("running").waitFor()
    await testConsole.looksRight(page, "experiments")
    await testConsole.tabTo(page, /^Headlines/)
    await page.keyboard.press("Enter")

    const row = (section: string, name: string) => page.getByRole("region", { name: section, exact: true }).getByRole("row", { name })
    await row("Visitors by variant", "b 310 93 30.0%").getByText("98.7%").waitFor()
    await row("Visitors by variant", "b 310 93 30.0%").getByText("better").waitFor()
    await row("Ranking of the panel", "b 1 5.00").waitFor()
    await row("Ranking of the tournament", "b 1").waitFor()
    await row("What each kind of evidence says of each variant", "b 30.0% 5.00 1").waitFor()
    const people = page.getByRole("region", { name: "What people said" })
    await people.getByText("onerror").waitFor()
    expect(await page.locator("main img, main script").count()).to.equal(0)
    expect(await page.locator("main").textContent()).to.not.include("\u202E")
    expect(await page.title()).to.not.equal("hit")
    await testConsole.looksRight(page, "experiment")

    // On the overview it is first, since it can be decided.
    for (let n = 0; n < 5; n++) await traffic.running(`Newer ${n}`)
    const here = page.url()
    await page.goto(`${testConsole.host.url}/console`)
    const card = page.getByRole("region", { name: "Experiments" }).getByRole("listitem")
    await card.first().getByText("can be decided").waitFor()
    expect(await card.first().textContent()).to.include("Headlines")
    expect(await card.count()).to.equal(6)
    await card.last().getByRole("link", { name: "6 run" }).waitFor()
    await page.goto(here)
    await row("Visitors by variant", "b 310 93 30.0%").waitFor()

    await testConsole.tabTo(page, "Variant")
    await page.keyboard.press("b")
    // Beside its text, not above it.
    const box = await page.getByLabel("Give the chosen variant all visitors of the page").boundingBox()
    expect(box?.width).to.be.within(10, 30)
    await testConsole.tabTo(page, "Why, kept word for word")
    await page.keyboard.type(`Three times as many ask. ${markup}`)
    await testConsole.tabTo(page, "Decide")
    await page.keyboard.press("Enter")
    await page.getByRole("dialog").getByRole("heading", { name: "Decide for b?" }).waitFor()
    await testConsole.tabTo(page, "Decide")
    await page.keyboard.press("Enter")
    const decision = page.getByRole("region", { name: "Decision" })
    await decision.getByRole("heading", { name: "Decided for b" }).waitFor()
    await decision.getByText("Three times as many ask. <img").waitFor()
    expect(await page.getByRole("form", { name: "Decision" }).count()).to.equal(0)
    const { body } = await testConsole.host.api<{ status: string; decision: object }>("GET", "/v1/experiments/headlines")
    expect(body.status).to.equal("decided")
    expect(body.decision).to.include({ variant_key: "b", reason: `Three times as many ask. ${markup}` })
  })

  it("offer a member what they may do, and a guest nothing that changes anything", async () => {
    const { host } = testConsole
    const keyOf = async (role: string) =>
      (await host.api<{ secret: string }>("POST", "/v1/api-keys", { name: `A ${role}`, role })).body.secret
    const asGuest = await testConsole.signedIn("/console/experiments/second", { key: await keyOf("guest") })
    await asGuest.getByText("No panel has ended.").waitFor()
    expect(
      await asGuest
        .getByRole("main")
        .getByRole("button", { name: /^(?!Copy)/ })
        .allTextContents(),
    ).to.deep.equal([])

    const page = await testConsole.signedIn("/console/experiments/second", { key: await keyOf("member") })
    await testConsole.tabTo(page, "Start")
    await page.keyboard.press("Enter")
    await page.getByRole("main").getByText("running", { exact: true }).waitFor()
    // Times in its sentences are in the reader's zone.
    await page.getByText(/^The first full week is over at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.$/).waitFor()
    expect(await page.getByRole("button", { name: "Decide" }).count()).to.equal(0)
    await testConsole.tabTo(page, "Archive")
    await page.keyboard.press("Enter")
    await page.getByRole("dialog").getByRole("button", { name: "Archive" }).press("Enter")
    await page.getByRole("main").getByText("archived", { exact: true }).waitFor()
    expect(await page.getByRole("button", { name: /^(Start|Archive)$/ }).count()).to.equal(0)
  })
})
