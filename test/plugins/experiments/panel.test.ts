// Panels over HTTP, with a loopback model provider that plays personas of known taste.
import { randomUUID } from "node:crypto"
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { anchorSets } from "../../../plugins/pages/experiments/panel/anchors.ts"
import { until } from "../../waiting.ts"
import { type ModelRequest, type ModelServer, modelServer } from "../models/model-server.ts"

interface PanelAnswer {
  readonly completed: boolean
  readonly started: boolean
  readonly panel_run_id: string
  readonly note: string
  readonly skipped_personas: string[]
  readonly skipped_variants: string[]
  readonly personas: string[]
  readonly variant_keys: string[]
  readonly ranking: {
    readonly ranking: {
      readonly variant_key: string
      readonly rank: number
      readonly score: number
      readonly interval: { readonly high: number }
    }[]
    readonly kill_list: { readonly variant_key: string; readonly reason: string }[]
    readonly persona_scores: unknown[]
    readonly failed_cells: { readonly persona_slug: string; readonly variant_key: string; readonly reason: string }[]
  }
}

interface Observation {
  readonly kind: string
  readonly variant_key: string
  readonly judge_slug: string
  readonly value: number | null
  readonly reason: string
  readonly created_at: string
  readonly details: Record<string, unknown>
}

interface Refusal {
  readonly code: string
  readonly message: string
  readonly details: { readonly reason?: string }
}

const prices = { input: 100, output: 100 }
/** Position of a sentence between no and yes. The anchors' vectors are on the same line. */
const leaning = (text: string): number => {
  for (const anchors of anchorSets) if (anchors.includes(text)) return anchors.indexOf(text)
  return /convinced/.test(text) ? 4 : /no use/.test(text) ? 0 : 2
}
const onLine = (point: number) => [Math.cos((point * Math.PI) / 10), Math.sin((point * Math.PI) / 10)]

describe("panels", () => {
  let server: ModelServer
  let host: TestHost
  let count = 0

  const start = async (models: object, experiments: object = {}) => {
    const settings = { models, experiments: { sync_deadline_ms: 60_000, render_pages: false, ...experiments } }
    host = await testHost({ capture: false, env: { MILLRACE_PLUGINS_SETTINGS: JSON.stringify(settings) } })
    for (const [name, fears] of [
      ["Founder", []],
      ["Buyer", ["Hidden costs"]],
      ["Clerk", []],
    ] as const) {
      await host.api("POST", "/v1/personas", { name, description: `A ${name.toLowerCase()} of a small firm.`, fears })
    }
  }
  const experiment = async (htmls: Record<string, string>) => {
    count += 1
    const variants = Object.entries(htmls).map(([key, html]) => ({ key, html }))
    const page = (await host.api<{ slug: string }>("POST", "/v1/pages", { title: `Page ${count}`, variants })).body.slug
    return (await host.api<{ slug: string }>("POST", "/v1/experiments", { name: `Experiment ${count}`, page })).body.slug
  }
  const panel = (slug: string, body: object = {}, key?: string) =>
    host.api<PanelAnswer & Refusal>(
      "POST",
      `/v1/experiments/${slug}/panel`,
      body,
      key === undefined ? {} : { headers: { "Idempotency-Key": key } },
    )
  const observations = async (slug: string) =>
    (await host.api<{ observations: Observation[] }>("GET", `/v1/experiments/${slug}/observations?limit=200`)).body.observations

  before(async () => {
    server = await modelServer()
  })
  beforeEach(() => server.forget())
  after(() => server.close())

  describe("with an embedding model", () => {
    before(async () => {
      server.embedBy((text) => onLine(leaning(text)))
      const persona = { base_url: server.url, model: "persona-1", prices }
      await start({ persona, embedding: { base_url: server.url, model: "embed-1", prices: { input: 1 } } })
    })
    after(() => host.stop())

    it("ranks variants by what personas say of them in their own words", async () => {
      server.answer(({ text }) => (text.includes("Save an hour") ? "I am convinced." : "This is of no use to me."))
      const slug = await experiment({ long: "<h1>We are a leading provider</h1>", short: "<h1>Save an hour a day</h1>" })
      const { body } = await panel(slug, { draws: 2 })
      expect(body).to.deep.include({ completed: true, started: true, skipped_variants: [], variant_keys: ["long", "short"] })
      expect(body.personas).to.have.members(["founder", "buyer", "clerk"])
      expect(body.ranking.ranking.map(({ variant_key, rank }) => [variant_key, rank])).to.deep.equal([
        ["short", 1],
        ["long", 2],
      ])
      expect(body.ranking.ranking[0]?.score).to.be.greaterThan(3.4)
      expect(body.ranking.ranking[1]?.score).to.be.lessThan(2.6)
      expect(body.ranking.kill_list[0]?.variant_key).to.equal("long")
      expect(body.ranking.kill_list[0]?.reason).to.include("no use")
      expect(body.ranking.failed_cells).to.deep.equal([])
      const stored = await observations(slug)
      expect(stored.filter(({ kind }) => kind === "panel")).to.have.length(12)
      expect(stored.filter(({ kind }) => kind === "decision_check")).to.have.length(1)
      const times = stored.map(({ created_at }) => created_at)
      expect(times, "newest first").to.deep.equal([...times].sort().reverse())
      const cell = stored.find(({ kind, variant_key }) => kind === "panel" && variant_key === "short")
      expect(cell?.judge_slug).to.match(/^persona:(founder|buyer|clerk)$/)
      expect(cell?.details).to.deep.include({ method: "semantic_similarity", made_by: "persona-1@persona-v1" })
    })

    it("asks each persona for itself, also of a page that another has read", async () => {
      server.answer(({ system }) => (system.includes("Hidden costs") ? "This is of no use to me." : "I am convinced."))
      const slug = await experiment({ one: "<p>Prices on request</p>" })
      for (const persona of ["founder", "buyer"]) await panel(slug, { draws: 1, persona_slugs: [persona] })
      expect(server.asked).to.have.length(2)
      const messages = (await observations(slug))
        .filter(({ kind }) => kind === "panel")
        .map(({ judge_slug, reason }) => [judge_slug, reason])
      expect(messages).to.have.deep.members([
        ["persona:founder", "I am convinced."],
        ["persona:buyer", "This is of no use to me."],
      ])
    })

    it("shows a persona the page alone: no key, name or author of the variant", async () => {
      server.answer(() => "Fine.")
      const html =
        '<html data-variant="treatment-b"><head><title>treatment-b by Eve</title><script>var variant="treatment-b"</script></head><body><!-- treatment-b --><h1>Offer</h1><input type="hidden" name="variant" value="treatment-b"><form><input name="email" required><button>Send</button></form></body></html>'
      const slug = await experiment({ "treatment-b": html })
      await panel(slug, { draws: 1, persona_slugs: ["founder"] })
      expect(server.asked).to.have.length(1)
      expect(JSON.stringify(server.asked)).to.not.match(/treatment-b|Eve|experiment/)
      expect(server.asked[0]?.text).to.equal("<page>\n# Offer\n\n[field: text, required] [button: Send]\n</page>")
      expect(server.asked[0]?.system).to.include("You are: Founder.")
    })

    it("gives the same run to a repeat with the same key, and refuses the key for another panel", async () => {
      server.answer(() => "Fine.")
      const slug = await experiment({ one: "<p>One</p>" })
      const key = randomUUID()
      const [first, second] = await Promise.all([panel(slug, { draws: 1 }, key), panel(slug, { draws: 1 }, key)])
      expect(second.body.panel_run_id).to.equal(first.body.panel_run_id)
      const again = (await panel(slug, { draws: 1 }, key)).body
      expect(again).to.deep.equal(first.body)
      expect((await panel(slug, { draws: 2 }, key)).body.details.reason).to.equal("idempotency_key_reused")
      expect(server.asked).to.have.length(3)
      expect((await observations(slug)).filter(({ kind }) => kind === "decision_check")).to.have.length(1)
    })

    it("ends honestly with a model that answers garbage half the time", async () => {
      server.answer((request: ModelRequest) => (request.text.includes("Two") ? { declines: "I can't do that." } : "I am convinced."))
      const slug = await experiment({ one: "<p>One</p>", two: "<p>Two</p>" })
      const { body } = await panel(slug, { draws: 1 })
      expect(body.completed).to.equal(true)
      expect(body.ranking.failed_cells.map(({ variant_key }) => variant_key)).to.deep.equal(["two", "two", "two"])
      expect(body.ranking.failed_cells[0]?.reason).to.include("declined")
      expect(body.ranking.ranking[0]).to.include({ variant_key: "one" })
      const failed = (await observations(slug)).filter(({ details }) => details["failed"] === "model_declined")
      expect(failed.map(({ value }) => value)).to.deep.equal([null, null, null])
    })

    it("skips variants that the page has not, and refuses what cannot be", async () => {
      server.answer(() => "Fine.")
      const slug = await experiment({ one: "<p>One</p>" })
      await host.api("PATCH", `/v1/experiments/${slug}`, { variants: [{ key: "one" }, { key: "gone" }] })
      expect((await panel(slug, { draws: 1 })).body).to.deep.include({ skipped_variants: ["gone"], variant_keys: ["one"] })
      server.forget()
      for (const [body, reason] of [
        [{ variant_keys: ["none"] }, "variant_unknown"],
        [{ persona_slugs: ["nobody"] }, "persona_unknown"],
        [{ draws: 21 }, "invalid_fields"],
        [{ variant_keys: ["gone"] }, "variants_missing"],
      ] as const) {
        expect((await panel(slug, body)).body.details.reason).to.equal(reason)
      }
      expect(server.asked).to.deep.equal([])
    })
  })

  describe("without an embedding model", () => {
    before(() => start({ persona: { base_url: server.url, model: "persona-1", prices } }))
    after(() => host.stop())

    it("takes a structured rating, and says so", async () => {
      server.answer(({ text }) => ({ json: { answer: "Hm.", likelihood: text.includes("Two") ? 4 : 2 } }))
      const slug = await experiment({ one: "<p>One</p>", two: "<p>Two</p>" })
      const { body } = await panel(slug, { draws: 1 })
      expect(body.ranking.ranking.map(({ variant_key, score }) => [variant_key, score])).to.deep.equal([
        ["two", 4],
        ["one", 2],
      ])
      expect((await observations(slug)).find(({ kind }) => kind === "panel")?.details).to.deep.include({ method: "structured_rating" })
      // The quantile for two degrees of freedom times the rounding error of three equal ratings would end at 4.72.
      const [first] = body.ranking.ranking
      expect(first?.interval.high).to.be.closeTo(4 + 4.302652729749464 * Math.sqrt(1 / 12 / 3), 1e-6)
    })

    it("names the personas beyond the limit of a panel", async () => {
      server.answer(() => ({ json: { answer: "Later.", likelihood: 3 } }))
      const names = Array.from({ length: 101 }, (_, place) => `Visitor ${String(place).padStart(3, "0")}`)
      for (const name of names) await host.api("POST", "/v1/personas", { name, description: "A visitor." })
      const slug = await experiment({ one: "<p>One</p>" })
      const { body } = await panel(slug, { draws: 1 })
      expect(body.personas).to.have.length(100)
      expect(body.skipped_personas).to.deep.equal(["visitor-097", "visitor-098", "visitor-099", "visitor-100"])
      expect(body.note).to.equal("A panel takes 100 personas. 4 did not take part; see skipped_personas.")
      expect((await panel(slug, { draws: 1, persona_slugs: ["visitor-100"] })).body).to.deep.include({ note: "", skipped_personas: [] })
      for (const persona of body.skipped_personas) await host.api("DELETE", `/v1/personas/${persona}`)
    })

    it("goes on where the caller left, and on the ledger", async () => {
      let release = () => {}
      const gate = new Promise<void>((resolve) => {
        release = resolve
      })
      server.answer(() => ({ json: { answer: "Later.", likelihood: 3 } }))
      server.hold(gate)
      const slug = await experiment({ one: "<p>One</p>" })
      const abortController = new AbortController()
      const headers = { Authorization: `Bearer ${host.adminKey}`, "Content-Type": "application/json" }
      const request = fetch(`${host.url}/v1/experiments/${slug}/panel`, {
        method: "POST",
        headers,
        body: "{}",
        signal: abortController.signal,
      }).catch(() => undefined)
      await until("a cell being asked", () => server.asked.length > 0)
      abortController.abort()
      await request
      release()
      await until("the decision check", async () => (await observations(slug)).some(({ kind }) => kind === "decision_check"))
    })
  })

  it("refuses a panel without personas, and one with too many cells, before it asks a model", async () => {
    await start({ persona: { base_url: server.url, model: "persona-1", prices } }, { max_panel_cells: 5 })
    try {
      const slug = await experiment({ one: "<p>One</p>" })
      expect((await panel(slug, { draws: 2 })).body.details.reason).to.equal("panel_too_large")
      for (const persona of ["founder", "buyer", "clerk"]) await host.api("DELETE", `/v1/personas/${persona}`)
      expect((await panel(slug)).body.details.reason).to.equal("personas_missing")
      expect(server.asked).to.deep.equal([])
    } finally {
      await host.stop()
    }
  })

  it("says which setting is missing where no model is configured, and begins nothing", async () => {
    await start({})
    try {
      const slug = await experiment({ one: "<p>One</p>" })
      const refused = await panel(slug)
      expect(refused.status).to.equal(400)
      expect(refused.body.details).to.deep.include({ reason: "model_not_configured", setting: "plugins.settings.models.persona" })
      expect(await observations(slug)).to.deep.equal([])
    } finally {
      await host.stop()
    }
  })
})
