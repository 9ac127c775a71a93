// Reports over HTTP: all evidence from the ledger alone, and as a document safe against hostile texts.
import { expect } from "chai"
import { derivedUuid, type Json, Store, UnitsOfWork } from "#core"
import type { TestHost } from "#core/testing"
import { type CollectionSpec, Collections, type Document } from "../../../core/contract/collection.ts"
import { ExperimentResource, type StoredExperiment } from "../../../plugins/pages/experiments/experiment.ts"
import { Ledger } from "../../../plugins/pages/experiments/ledger.ts"
import { reportPage } from "../../../plugins/pages/experiments/report/page.ts"
import type { Report } from "../../../plugins/pages/experiments/report/resource.ts"
import { onBothStores } from "../../pipeline/stores.ts"
import { type ModelRequest, type ModelServer, modelServer, type Said } from "../models/model-server.ts"
import { reportWith } from "./report-fixture.ts"

const judge = ({ system, text }: ModelRequest): Said => {
  const merits = [...text.matchAll(/merit (\d+)/g)].map(([, merit]) => Number(merit))
  if (!system.includes("compare")) return { json: { answer: `Merit ${merits[0]}.`, likelihood: Math.min(5, merits[0] ?? 1) } }
  const [a = 0, b = 0] = merits
  return { json: { reasoning: "By merit.", winner: a >= b ? "A" : "B", confidence: 0.9 } }
}

interface Cards {
  readonly judges: readonly {
    readonly judge_slug: string
    readonly kind: string
    readonly health: { readonly rounds: number; readonly position_effect: { readonly value: number; readonly too_few: boolean } } | null
    readonly calibration: { readonly experiments: number; readonly hit_rate: { readonly value: number | null; readonly n: number } }
  }[]
  readonly published: { readonly hit_rate: number }
}

onBothStores("reports", ({ start }) => {
  let server: ModelServer
  let host: TestHost
  let slug: string
  before(async () => {
    server = await modelServer()
    const model = { base_url: server.url, prices: { input: 1, output: 1 } }
    const models = { judge: { ...model, model: "judge-1" }, persona: { ...model, model: "persona-1" } }
    const settings = { models, experiments: { render_pages: false, sync_deadline_ms: 60_000 } }
    host = await start({ env: { MILLRACE_PLUGINS_SETTINGS: JSON.stringify(settings) } })
    server.answer(judge)
    for (const name of ["Founder", "Buyer"]) await host.api("POST", "/v1/personas", { name })
    slug = await experiment("All evidence", { plain: 1, bold: 5, fair: 3 })
    await host.api("POST", `/v1/experiments/${slug}/panel`, { draws: 2 })
    await host.api("POST", `/v1/experiments/${slug}/tournament`, { criteria: "Which has more merit?" })
    const items = [{ experiment_slug: slug, variant_key: "plain", feedback: "The <b>button</b> is hidden." }]
    await host.api("POST", "/v1/page-feedback", { items })
  })
  after(() => server.close())

  const experiment = async (name: string, merits: Record<string, number>) => {
    const variants = Object.entries(merits).map(([key, merit]) => ({ key, html: `<h1>${name} with merit ${merit}</h1>` }))
    const page = (await host.api<{ slug: string }>("POST", "/v1/pages", { title: name, variants })).body.slug
    return (await host.api<{ slug: string }>("POST", "/v1/experiments", { name, page })).body.slug
  }
  const report = async (of = slug) => (await host.api<Report>("GET", `/v1/experiments/${of}/report`)).body
  /** Writes the observations of a decided experiment. */
  const decided = async (of: string, rates: Record<string, number>, leader_key: string) => {
    const organization = host.organization.id
    const match = (await host.get(Store).open(ExperimentResource.collection, organization).first({ slug: of })) as StoredExperiment
    await host.get(UnitsOfWork).run((work) => {
      const live = { kind: "live" as const, judge_slug: "live:conversion" }
      for (const [variant_key, value] of Object.entries(rates)) {
        const details = {
          occasion: "decision",
          as_of: "2026-09-30T00:00:00.000Z",
          visitors: 1_000,
          conversions: value * 1_000,
          rate_low: value - 0.01,
          rate_high: value + 0.01,
        }
        host.get(Ledger).add(work, organization, match, { ...live, id: derivedUuid(of, variant_key), variant_key, value, details })
      }
      const verdict: Json = { outcome: "better", leader_key, message: `${leader_key} is better.` }
      host.get(Ledger).add(work, organization, match, { ...live, kind: "decision_check", variant_key: leader_key, details: { verdict } })
      work.in(ExperimentResource.collection, organization).update(match.id, { $set: { status: "decided" } })
    })
  }

  it("have all evidence side by side", async () => {
    const { panel, tournament, feedback, summary, live, as_of } = await report()
    expect(panel).to.deep.include({
      judge_slug: "model:persona-1@panel",
      personas: ["buyer", "founder"],
      cells: 12,
      failed_cells: [],
      text_from: "html",
    })
    expect(panel?.ranking.map(({ variant_key, score }) => [variant_key, score])).to.deep.equal([
      ["bold", 5],
      ["fair", 3],
      ["plain", 1],
    ])
    expect(tournament).to.deep.include({
      criteria: "Which has more merit?",
      outcome: "leader",
      leader_key: "bold",
      judge_slug: "model:judge-1@judge-v1",
    })
    expect(tournament?.ranking.map(({ variant_key }) => variant_key)).to.deep.equal(["bold", "fair", "plain"])
    expect(feedback.map(({ variant_key, feedback: message }) => [variant_key, message])).to.deep.equal([
      ["plain", "The <b>button</b> is hidden."],
    ])
    expect(
      summary.map((item) => [item.variant_key, item.panel_score, item.tournament_rank, item.feedback, item.conversion_rate]),
    ).to.deep.equal([
      ["plain", 1, tournament?.ranking[2]?.rank, 1, null],
      ["bold", 5, 1, 0, null],
      ["fair", 3, tournament?.ranking[1]?.rank, 0, null],
    ])
    expect([live, as_of === null]).to.deep.equal([null, false])
  })

  it("show the tournament that was answered", async () => {
    const own = await experiment("As answered", { one: 2, two: 4 })
    const { result } = (await host.api<{ result: Record<string, unknown> }>("POST", `/v1/experiments/${own}/tournament`, {})).body
    const { tournament } = await report(own)
    for (const field of ["outcome", "leader_key", "skipped_pairs", "flip_rate", "position_effect", "comparisons_to_decision"] as const)
      expect(tournament?.[field], field).to.deep.equal(result[field])
    const ranking = (result["ranking"] as Record<string, unknown>[]).map(({ key: _key, ...item }) => item)
    expect(tournament?.ranking).to.deep.equal(ranking)
  })

  it("count corrections, and say so", async () => {
    const own = await experiment("Corrected", { one: 2, two: 4 })
    await host.api("POST", `/v1/experiments/${own}/panel`, { draws: 1 })
    const cells = await host.api<{ observations: { id: string }[] }>(
      "GET",
      `/v1/experiments/${own}/observations?kind=panel&variant_key=one`,
    )
    for (const { id } of cells.body.observations)
      await host.api("POST", `/v1/experiments/${own}/observations/${id}/corrections`, { reason: "It read another page.", value: 5 })
    const { panel } = await report(own)
    expect(panel).to.deep.include({ corrected: 2, cells: 4 })
    expect(panel?.ranking.map(({ variant_key, score }) => [variant_key, score])).to.deep.equal([
      ["one", 5],
      ["two", 4],
    ])
  })

  const fetchReport = () =>
    fetch(`${host.url}/v1/experiments/${slug}/report/export`, { headers: { Authorization: `Bearer ${host.adminKey}` } })

  describe("of a decided experiment", () => {
    before(() => decided(slug, { plain: 0.02, bold: 0.05, fair: 0.03 }, "bold"))

    it("holds judges against what visitors did", async () => {
      const { judges, published } = (await host.api<Cards>("GET", "/v1/judges")).body
      const cards = new Map(judges.map((card) => [card.judge_slug, card]))
      expect([...cards.keys()]).to.have.members(["model:judge-1@judge-v1", "model:persona-1@panel", "persona:buyer", "persona:founder"])
      const model = cards.get("model:judge-1@judge-v1")
      expect(model?.health?.position_effect).to.deep.include({ value: 0.5 })
      expect(model?.health?.rounds).to.be.greaterThan(0)
      for (const { calibration } of judges) {
        expect(calibration).to.deep.include({ experiments: 1 })
        expect(calibration.hit_rate).to.deep.include({ value: 1, n: 1, too_few: true })
      }
      expect(cards.get("persona:buyer")?.health).to.equal(null)
      expect(published.hit_rate).to.equal(0.67)
    })

    it("is the same when nothing is left but the ledger and the experiment", async () => {
      const before = await report()
      expect(before.live).to.deep.include({ source: "ledger", outcome: "better", leader_key: "bold", message: "bold is better." })
      expect(before.summary.map(({ conversion_rate }) => conversion_rate)).to.deep.equal([0.02, 0.05, 0.03])
      const page = await (await fetchReport()).text()
      const stored = new Set(["page_experiments", "experiment_observations"])
      const emptied = host.runtime.registry
        .all(Collections)
        .map(({ item }) => item as CollectionSpec<Document, "organization">)
        .filter(
          ({ name, scope }) =>
            scope === "organization" && !stored.has(name) && /^(experiment|model|page|screenshot|bucket|dataset)/.test(name),
        )
      expect(emptied.map(({ name }) => name)).to.include.members(["experiment_runs", "experiment_personas", "model_answers", "pages"])
      for (const collection of emptied) {
        const documents = await host.get(Store).open(collection, host.organization.id).find({})
        await host.get(UnitsOfWork).run((work) => {
          for (const { id } of documents) work.in(collection, host.organization.id).remove(id)
        })
      }
      expect(await report()).to.deep.equal(before)
      expect(await (await fetchReport()).text()).to.equal(page)
    })
  })

  it("are exported as one document, for members of the organization alone", async () => {
    const answer = await fetchReport()
    expect(answer.headers.get("content-type")).to.equal("text/html; charset=utf-8")
    expect(answer.headers.get("content-disposition")).to.include(`${slug}-report.html`)
    const page = await answer.text()
    expect(page).to.include("The &#60;b&#62;button&#60;/b&#62; is hidden.")
    expect((await fetch(`${host.url}/v1/experiments/${slug}/report/export`)).status).to.equal(401)
    expect((await host.api("GET", "/v1/experiments/none/report")).status).to.equal(404)
  })

  it("let no text of strangers become part of the document", () => {
    const hostile = `"'><script>alert(1)</script><img src=x onerror=alert(1)></svg></style><style>*{}</style>{{7*7}}&lt;`
    const page = reportPage(reportWith(hostile))
    const clean = reportPage(reportWith("text"))
    expect(tagsOf(page)).to.deep.equal(tagsOf(clean))
    const names = new Set(tagsOf(page).flatMap((tag) => tag.split(" ")))
    for (const name of ["script", "img", "iframe", "a", "href", "src", "onerror"]) expect(names.has(name), name).to.equal(false)
    const policy = /http-equiv="Content-Security-Policy" content="([^"]+)"/.exec(page)?.[1]
    expect(policy).to.match(
      /^default-src &#39;none&#39;; style-src &#39;sha256-[\w+/=]+&#39;; base-uri &#39;none&#39;; form-action &#39;none&#39;$/,
    )
    expect(/url\(|@import/.test(clean)).to.equal(false)
  })

  it("have a title, a description and a table for each picture", () => {
    const page = reportPage(reportWith(""))
    const pictures = [...page.matchAll(/<svg class="figure" role="img" aria-labelledby="(\S+) (\S+)"/g)]
    expect(pictures).to.have.length(5)
    for (const [, title, description] of pictures) {
      expect(page).to.match(new RegExp(`<title id="${title}">[^<]{10,}</title>`))
      expect(page).to.match(new RegExp(`<desc id="${description}">[^<]{10,}</desc>`))
    }
    const ids = [...page.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)
    expect(new Set(ids).size).to.equal(ids.length)
    expect([...page.matchAll(/<table>/g)].length).to.be.at.least(pictures.length)
    expect([...page.matchAll(/<table><caption>[^<]+<\/caption>\s*<thead>/g)].length).to.equal([...page.matchAll(/<table>/g)].length)
    expect([...page.matchAll(/<h[1-6]/g)].map(([tag]) => tag).filter((tag) => tag === "<h1")).to.have.length(1)
  })
})

/** Returns names of elements and attributes, in order. */
function tagsOf(page: string): string[] {
  return [...page.matchAll(/<\/?([a-z0-9]+)((?:\s+[a-z0-9:-]+(?:="[^"]*")?)*)\s*\/?>/gi)].map(
    ([, name, attributes = ""]) =>
      `${name} ${[...attributes.matchAll(/([a-z0-9:-]+)(?:="[^"]*")?/gi)].map(([, attribute]) => attribute).join(" ")}`,
  )
}
