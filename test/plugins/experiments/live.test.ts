// Live evidence over HTTP: pages of the service, visitors with known behaviour and beacon events, and a moved clock.
import { expect } from "chai"
import { Ids, UnitsOfWork } from "#core"
import { createLiveEvidenceReader } from "../../../plugins/pages/experiments/live/reader.ts"
import type { LiveEvidence } from "../../../plugins/pages/experiments/live/resource.ts"
import { RunCollection } from "../../../plugins/pages/experiments/runs.ts"
import { refusalOf } from "../../refusal.ts"
import { until } from "../../waiting.ts"
import { event } from "../page-events/loop.ts"
import { Traffic } from "./live-traffic.ts"

interface Refusal {
  readonly details: { readonly reason?: string }
}

interface Observation {
  readonly judge_slug: string
  readonly variant_key: string
  readonly value: number | null
  readonly details: { readonly occasion?: string; readonly after?: Record<string, number> }
}

const dayMs = 86_400_000

describe("live evidence", () => {
  let traffic: Traffic
  before(async () => {
    traffic = await Traffic.start()
  })
  // Running experiments write to the ledger when a test moves the clock.
  afterEach(() => traffic.archiveRunning())
  after(() => traffic.stop())

  const live = (slug: string, window = "all") => traffic.call<LiveEvidence>("GET", `/v1/experiments/${slug}/live?window=${window}`)
  const counts = ({ variants }: LiveEvidence) =>
    Object.fromEntries(variants.map((variant) => [variant.variant_key, [variant.visitors, variant.conversions]]))
  const observations = async (slug: string) =>
    (await traffic.call<{ observations: Observation[] }>("GET", `/v1/experiments/${slug}/observations?kind=live&limit=200`)).observations

  it("counts each session once, for the variant that it viewed first, and its lead after that", async () => {
    const { page, slug } = await traffic.running("Counted")
    const observed: Record<string, [number, number]> = { a: [0, 0], b: [0, 0] }
    // Equal visitors and leads per variant: an unlucky draw would be evidence.
    while (Object.values(observed).some(([visitors]) => visitors < 12)) {
      const visit = await traffic.served(page)
      const [visitors = 0, leads = 0] = observed[visit.variant] ?? []
      if (visitors === 12) continue
      const converts = visitors % 3 === 0
      await visit.tell(converts ? [event("cta_click", { element: "buy" }), event("lead", { form: "contact" }), event("lead")] : [])
      observed[visit.variant] = [visitors + 1, leads + (converts ? 1 : 0)]
    }
    // The same person again, a bot, and a test add no visitors.
    const agent = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/140.0.0.0 Safari/537.36 Again"
    const { variant } = await traffic.visit(page, [], agent)
    await traffic.visit(page, [], agent)
    observed[variant] = [(observed[variant]?.[0] ?? 0) + 1, observed[variant]?.[1] ?? 0]
    await traffic.visit(page, [event("lead")], "Googlebot/2.1 (+http://www.google.com/bot.html)")
    await traffic.write(traffic.rowsOf(page, "a", { n: 5, leads: 5 }).map((row) => ({ ...row, is_test: true })))
    const evidence = await live(slug)
    expect(counts(evidence)).to.deep.equal(observed)
    expect(evidence).to.deep.include({ visitors: 25, conversions: 8, analytics_enabled: true, status: "running" })
    expect(evidence.sample_ratio.verdict).to.equal("as_expected")
    expect(evidence.verdict.outcome).to.equal("cannot_tell")
    expect(evidence.series).to.have.length(1)
    for (const { rate, rate_low, rate_high } of evidence.variants) {
      // A variant without leads has a rate of 0.
      expect(rate_low).to.be.at.most(rate ?? -1)
      expect(rate_high).to.be.above(rate ?? 1)
    }
  })

  it("counts the goal that the experiment declares", async () => {
    const { page, slug } = await traffic.running("Clicked", { goal: { kind: "page_event", event: "cta_click", element: "buy" } })
    await traffic.visit(page, [event("cta_click", { element: "buy" })])
    await traffic.visit(page, [event("cta_click", { element: "other" }), event("lead")])
    const dataset = await traffic.call<{ slug: string }>("POST", "/v1/datasets", { name: "Deals" })
    const goal = { kind: "dataset", dataset_slug: dataset.slug, where: { stage: "won" } }
    const rows = await traffic.running("Won", { goal })
    const visits = [await traffic.visit(rows.page), await traffic.visit(rows.page), await traffic.visit(rows.page)]
    const deal = (place: number, more: object) => ({ stage: "won", artifact_id: rows.page.id, variant: visits[place]?.variant, ...more })
    await traffic.call("POST", `/v1/datasets/${dataset.slug}/rows`, {
      rows: [
        deal(0, { session_id: visits[0]?.envelope["session_id"] }),
        deal(0, { session_id: visits[0]?.envelope["session_id"] }),
        deal(1, { stage: "lost", session_id: visits[1]?.envelope["session_id"] }),
        deal(1, { session_id: visits[1]?.envelope["session_id"], is_test: true }),
        deal(2, { artifact_id: page.id, session_id: visits[2]?.envelope["session_id"] }),
      ],
    })
    await traffic.counted()
    expect(await live(slug)).to.deep.include({ visitors: 2, conversions: 1 })
    expect(await live(rows.slug)).to.deep.include({ visitors: 3, conversions: 1, unlinked_conversions: 0 })
    // A row without a session counts by itself.
    await traffic.call("POST", `/v1/datasets/${dataset.slug}/rows`, { rows: [deal(2, {})] })
    await traffic.counted()
    expect(await live(rows.slug)).to.deep.include({ visitors: 3, conversions: 2, unlinked_conversions: 1 })
  })

  it("shows nobody where nobody came, and refuses what would change what is measured", async () => {
    const { slug, page } = await traffic.running("Empty", { guardrails: [{ metric: "lcp_ms", max_increase_percent: 5 }] })
    await traffic.counted()
    const evidence = await live(slug)
    expect(evidence).to.deep.include({ visitors: 0, conversions: 0, series: [], to_decision: null })
    expect(evidence.sample_ratio).to.include({ verdict: "no_visitors", p_value: 1 })
    expect(evidence.variants[1]).to.deep.include({ rate: null, rate_low: 0, rate_high: 1 })
    expect(evidence.guardrails[0]?.variants.map(({ verdict, value }) => [verdict, value])).to.deep.equal([
      ["control", null],
      ["cannot_tell", null],
    ])
    const refused = await traffic.host.api<Refusal>("PATCH", `/v1/experiments/${slug}`, {
      goal: { kind: "page_event", event: "cta_click" },
    })
    expect([refused.status, refused.body.details.reason]).to.deep.equal([400, "wrong_status"])
    expect((await traffic.host.api<Refusal>("PATCH", `/v1/experiments/${slug}`, { plan: { alpha: 0.2 } })).body.details.reason).to.equal(
      "wrong_status",
    )
    const draft = await traffic.call<{ slug: string }>("POST", "/v1/experiments", { name: "Draft", page: page.slug })
    expect((await live(draft.slug)).verdict.outcome).to.equal("not_started")
    const high = { kind: "thompson", floor: 0.5 }
    const expected = { name: "Floor", variants: [{ key: "a" }, { key: "b" }, { key: "c" }], allocation: high }
    expect((await traffic.host.api<Refusal>("POST", "/v1/experiments", expected)).body.details.reason).to.equal("floor_too_high")
  })

  it("tells a difference by full weeks, day by day, and what more it would take", async () => {
    const plan = { cost_per_visitor_millicents: 1_000 }
    const { page, slug } = await traffic.running("Weeks", { plan })
    const day = async (a: number, b: number) => {
      await traffic.commit([...traffic.rowsOf(page, "a", { n: 100, leads: a }), ...traffic.rowsOf(page, "b", { n: 100, leads: b })])
      traffic.host.clock.move(dayMs)
    }
    await day(10, 12)
    await day(10, 13)
    await traffic.counted()
    const early = await live(slug, "full_weeks")
    expect(early.window.full_weeks).to.equal(0)
    expect(early.verdict).to.include({ outcome: "cannot_tell" })
    expect(early.verdict.message).to.include("first full week")
    expect(early.to_decision?.visitors).to.be.greaterThan(400)
    expect(early.to_decision?.millicents).to.equal((early.to_decision?.visitors ?? 0) * 1_000)
    expect(early.to_decision?.days).to.be.closeTo((early.to_decision?.visitors ?? 0) / 200, 1)
    for (let more = 0; more < 6; more++) await day(10, 40)
    await traffic.counted()
    const week = await live(slug, "full_weeks")
    // Eight days have passed; the eighth belongs to an unfinished week.
    expect([week.visitors, week.window.full_weeks]).to.deep.equal([1_400, 1])
    expect(week.verdict).to.include({ outcome: "better", leader_key: "b" })
    expect(week.to_decision).to.equal(null)
    expect(week.series.map(({ day: number }) => number)).to.deep.equal([1, 2, 3, 4, 5, 6, 7, 8])
    expect((await live(slug)).visitors).to.equal(1_600)
    const [, b] = week.series.at(-1)?.variants ?? []
    expect([b?.visitors, b?.conversions]).to.deep.equal([800, 12 + 13 + 6 * 40])
    expect(b?.difference_low).to.be.above(0)
    expect(week.series[0]?.variants[1]?.difference_low).to.be.below(0)
  })

  it("puts each day on the ledger once", async () => {
    const { page, slug } = await traffic.running("Daily")
    await traffic.commit([...traffic.rowsOf(page, "a", { n: 50, leads: 5 }), ...traffic.rowsOf(page, "b", { n: 50, leads: 4 })])
    traffic.host.clock.move(dayMs)
    await traffic.counted()
    traffic.host.clock.move(60_000)
    await until("the observations of the day", async () => (await observations(slug)).length > 0, { everyMs: 100 })
    const stored = await observations(slug)
    expect(stored.map(({ judge_slug, variant_key }) => `${judge_slug} ${variant_key}`)).to.have.members([
      "live:conversion a",
      "live:conversion b",
      "live:sample_ratio ",
    ])
    expect(stored.find(({ variant_key }) => variant_key === "a")?.value).to.equal(0.1)
    await traffic.call("POST", `/v1/experiments/${slug}/archive`)
    traffic.host.clock.move(2 * dayMs)
    await traffic.counted()
    expect(await observations(slug)).to.deep.equal(stored)
    expect((await live(slug)).visitors).to.equal(100)
  })

  it("alarms where visitors do not fall as the weights say, and names the likely cause", async () => {
    const cases = {
      one_browser: (page: { id: string; slug: string }) => [
        ...traffic.rowsOf(page, "a", { n: 150 }),
        ...traffic.rowsOf(page, "b", { n: 150 }),
        ...traffic.rowsOf(page, "a", { n: 90, browser: "samsung" }),
      ],
      no_beacon: (page: { id: string; slug: string }) => [
        ...traffic.rowsOf(page, "a", { n: 150, leads: 20 }),
        ...traffic.rowsOf(page, "b", { n: 12, leads: 12 }).filter((row) => row.event === "lead"),
      ],
      redirect: (page: { id: string; slug: string }) => [
        ...traffic.rowsOf(page, "a", { n: 150, leads: 20 }),
        ...traffic.rowsOf(page, "b", { n: 60, leads: 8 }),
      ],
      unknown: (page: { id: string; slug: string }) => [
        ...traffic.rowsOf(page, "a", { n: 150, leads: 20 }),
        ...traffic.rowsOf(page, "b", { n: 60, leads: 8 }),
      ],
      bots: (page: { id: string; slug: string }) => [
        ...traffic.rowsOf(page, "a", { n: 60, leads: 60 }),
        ...traffic.rowsOf(page, "b", { n: 60, leads: 60 }),
        ...traffic.rowsOf(page, "b", { n: 120 }),
      ],
    }
    const html = ["<h1>A</h1>", '<meta http-equiv="refresh" content="0; url=https://acme.test"><h1>B</h1>']
    for (const [cause, rowsOf] of Object.entries(cases)) {
      const { page, slug } = await traffic.running(`Alarm ${cause}`, {}, cause === "redirect" ? html : undefined)
      await traffic.write(rowsOf(page))
      const evidence = await live(slug)
      expect(evidence.sample_ratio, cause).to.include({ verdict: "alarm" })
      expect(evidence.sample_ratio.p_value).to.be.below(0.01)
      expect(evidence.sample_ratio.causes[0]?.cause).to.equal(cause)
      expect(evidence.verdict.outcome).to.equal("sample_ratio_mismatch")
    }
  })

  it("judges guardrails with intervals", async () => {
    const guardrails = [
      { metric: "lcp_ms", max_increase_percent: 10 },
      { metric: "rage_clicks", max_increase_percent: 50 },
      { metric: "form_abandons", max_increase_percent: 400 },
    ]
    const { page, slug } = await traffic.running("Guarded", { guardrails })
    const rows = ["a", "b"].flatMap((variant) =>
      traffic.rowsOf(page, variant, { n: 300 }).flatMap((row, place) => {
        const slow = variant === "b" ? 2 : 1
        const more = (name: string, values: object) => ({ ...row, ...values, event_id: `${row.event_id}:${name}`, event: name })
        return [
          row,
          more("web_vital", { vital_name: "LCP", vital_value: slow * (1_000 + (place % 100)), vital_rating: "good" }),
          ...(place % 10 < slow * 2 ? [more("rage_click", { click_count: 5 })] : []),
          ...(place % 5 === 0 ? [more("form_abandon", { form: "contact" })] : []),
        ]
      }),
    )
    await traffic.write(rows)
    const { guardrails: judged } = await live(slug)
    const [lcp, rage, abandons] = judged.map(({ variants }) => variants[1])
    expect(lcp).to.include({ n: 300, verdict: "harmed" })
    expect(lcp?.value).to.be.within(2_100, 2_200)
    expect(lcp?.increase_percent).to.be.within(95, 105)
    expect([rage?.value, abandons?.value]).to.deep.equal([0.4, 0.2])
    expect([rage?.verdict, abandons?.verdict]).to.deep.equal(["cannot_tell", "not_harmed"])
  })

  it("begins with what a tournament found where that is asked for, and tells nobody of another organization", async () => {
    const allocation = { kind: "thompson", floor: 0.1, prior: "tournament", interval: "1h" }
    const { page, slug } = await traffic.running("Prior", { allocation })
    const { id } = await traffic.call<{ id: string }>("GET", `/v1/experiments/${slug}`)
    const organization = traffic.host.organization.id
    const ranking = [
      { represents: ["b"], score: 0.9 },
      { represents: ["a"], score: 0.1 },
    ]
    const run = {
      kind: "tournament" as const,
      experiment_id: id,
      asked: "",
      variants: [],
      texts: {},
      screenshots: {},
      status: "completed" as const,
    }
    await traffic.host.get(UnitsOfWork).run((work) => {
      const times = { created_at: "2026-01-01T00:00:00.000Z", finished_at: null }
      work.in(RunCollection, organization).insert({ ...run, ...times, id: traffic.host.get(Ids).uuid(), result: { ranking } })
    })
    traffic.host.clock.move(dayMs / 24)
    await traffic.counted()
    traffic.host.clock.move(60_000)
    const changes = async () => (await observations(slug)).filter(({ judge_slug }) => judge_slug === "live:allocation")
    await until("new weights", async () => (await changes()).length > 0, { everyMs: 100 })
    const [change] = await changes()
    expect(change?.details.after?.["b"]).to.be.greaterThan(1.3)
    expect(change?.details).to.include({ prior: "tournament", floor: 0.1 })
    const { variants } = await traffic.call<{ variants: { weight: number }[] }>("GET", `/v1/pages/${page.slug}`)
    expect(variants.reduce((sum, { weight }) => sum + weight, 0)).to.be.closeTo(2, 1e-6)
    expect((await (await traffic.analytics.another()).api("GET", `/v1/experiments/${slug}/live`)).status).to.equal(404)
  })

  it("tells the weights of an experiment whose events are not in the copy yet", async () => {
    const status = async () => ({ enabled: true, as_of: null })
    const analytics = { status, read: async () => ({ rows: [], truncated: false }) }
    const pages = { get: async () => ({ variants: [{ key: "a", weight: 3 }] }), weightChanges: async () => [] }
    const reader = createLiveEvidenceReader({ analytics, pages, datasets: {} } as never)
    const experiment = {
      slug: "early",
      status: "running",
      page_id: "p",
      variants: [{ key: "a", page_variant: "a" }],
      guardrails: [],
      goal: { kind: "lead" },
      started_at: "2026-01-01T00:00:00.000Z",
    }
    const evidence = await reader.of("org", experiment as never, { window: "all", signal: new AbortController().signal })
    expect(evidence.allocation).to.deep.equal([{ from: "2026-01-01T00:00:00.000Z", shares: { a: 1 } }])
    expect(evidence).to.include({ as_of: null, visitors: 0 })
  })

  it("says when there is more than can be counted at once", async () => {
    const status = async () => ({ enabled: true, as_of: "2026-01-02T00:00:00Z" })
    const analytics = { status, read: async () => ({ rows: [], truncated: true }) }
    const pages = { get: async () => undefined, weightChanges: async () => [] }
    const reader = createLiveEvidenceReader({ analytics, pages, datasets: {} } as never)
    const experiment = {
      slug: "many",
      page_id: "p",
      variants: [],
      guardrails: [],
      goal: { kind: "lead" },
      started_at: "2026-01-01T00:00:00Z",
    }
    const counted = reader.of("org", experiment as never, { window: "all", signal: new AbortController().signal })
    expect((await refusalOf(counted)).details).to.include({ reason: "too_many_counts" })
  })
})
