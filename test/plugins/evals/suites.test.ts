// Eval suites over HTTP: partial updates, former slugs, and nightly runs in the organization's time zone.
import { randomUUID } from "node:crypto"
import { expect } from "chai"
import { Store, UnitsOfWork } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { ScheduleCollection } from "../../../core/jobs/schedules.ts"
import { collectionNamed } from "../collection-named.ts"

interface Suite {
  readonly id: string
  readonly slug: string
  readonly name: string
  readonly description: string
  readonly agent_key: string
  readonly judge_model: string
  readonly pass_threshold: number
  readonly evaluate_artifact: boolean
  readonly cron_enabled: boolean
  readonly revision: number
}

interface Refusal {
  readonly code: string
  readonly message: string
  readonly details: {
    readonly reason?: string
    readonly setting?: string
    readonly fields?: { readonly path: string; readonly message: string }[]
  }
}

describe("eval suites", () => {
  let host: TestHost
  before(async () => {
    const judge = { base_url: "http://127.0.0.1:2", model: "judge-1", prices: { input: 1, output: 1 } }
    host = await testHost({ env: { MILLRACE_PLUGINS_SETTINGS: JSON.stringify({ models: { others: [judge] } }) } })
    const credentials = { base_url: "https://agents.example.com", headers: { Authorization: "Bearer agent-secret" } }
    await host.api("POST", "/v1/integrations-connect", { app: "http", name: "Agents", credentials, share_with_org: true })
    await host.api("POST", "/v1/agents", { name: "Counter", key: "counter", integration: "agents", protocol: "webhook", path: "/desk" })
  })
  after(() => host.stop())

  const createSuite = async (input: object) => (await host.api<{ suite: Suite }>("POST", "/v1/evals/suites", input)).body.suite
  const read = (slug: string) => host.api<Suite & Refusal>("GET", `/v1/evals/suites/${slug}`)
  const put = (slug: string, body: object) => host.api<{ suite: Suite } & Refusal>("PUT", `/v1/evals/suites/${slug}`, body)
  const nights = async (id: string) =>
    (await host.get(Store).open(ScheduleCollection).find({})).filter(
      ({ type, payload }) => type === "evals.nightly" && JSON.stringify(payload).includes(id),
    )

  it("have the fields of the resource, and defaults for those that are not given", async () => {
    const suite = await createSuite({ name: "Front desk" })
    expect(Object.keys(suite).sort()).to.deep.equal(
      "agent_key,created_at,created_by_user_id,cron_enabled,description,evaluate_artifact,id,judge_model,name,organization_id,pass_threshold,revision,slug,updated_at".split(
        ",",
      ),
    )
    expect(suite).to.deep.include({
      slug: "front-desk",
      pass_threshold: 80,
      cron_enabled: false,
      evaluate_artifact: false,
      judge_model: "",
    })
    expect((await createSuite({ name: "Front desk" })).slug).to.equal("front-desk-2")
    expect((await read("front-desk")).body).to.deep.equal(suite)
  })

  it("change by an update only where a field is given", async () => {
    const before = await createSuite({ name: "Partial", description: "Kept", agent_key: "counter", judge_model: "judge-1" })
    const { body } = await put("partial", { pass_threshold: 55 })
    expect(Object.keys(body)).to.deep.equal(["suite"])
    const { pass_threshold, revision, updated_at: _updated, ...rest } = body.suite as Suite & { updated_at: string }
    expect([pass_threshold, revision]).to.deep.equal([55, 2])
    expect(before).to.deep.include(rest)
    expect((await put("partial", { evaluate_artifact: true, description: "" })).body.suite).to.include({
      evaluate_artifact: true,
      description: "",
      pass_threshold: 55,
    })
  })

  it("refuse an unknown field with the nearest name, and change nothing", async () => {
    const before = await createSuite({ name: "Mistyped" })
    const { status, body } = await put("mistyped", { pass_treshold: 10 })
    expect([status, body.details.reason, body.details.fields?.[0]?.path]).to.deep.equal([400, "invalid_fields", "pass_treshold"])
    expect(body.message).to.include("pass_threshold")
    for (const wrong of [{ pass_threshold: 101 }, { pass_threshold: 1.5 }, { pass_threshold: -1 }, { cron_enabled: "yes" }])
      expect((await put("mistyped", wrong)).status, JSON.stringify(wrong)).to.equal(400)
    expect((await read("mistyped")).body).to.deep.equal(before)
  })

  it("refuse an unknown agent and an unknown judge, and change nothing", async () => {
    const before = await createSuite({ name: "Fitting", agent_key: "counter" })
    for (const [change, status, reason] of [
      [{ agent_key: "countr" }, 404, "agent_not_found"],
      [{ judge_model: "judge-9" }, 400, "model_not_configured"],
      [{ agent_key: "Counter" }, 404, "agent_not_found"],
    ] as const) {
      const updated = await put("fitting", change)
      expect([updated.status, updated.body.details.reason], JSON.stringify(change)).to.deep.equal([status, reason])
      const created = await host.api<Refusal>("POST", "/v1/evals/suites", { name: "Unfitting", slug: "unfitting", ...change })
      expect([created.status, created.body.details.reason], JSON.stringify(change)).to.deep.equal([status, reason])
    }
    expect((await read("fitting")).body).to.deep.equal(before)
    expect((await read("unfitting")).status).to.equal(404)
    expect((await put("fitting", { agent_key: "", judge_model: "judge-1" })).status).to.equal(200)
  })

  it("are renamed by suite_slug, and go on answering to the old slug", async () => {
    const { id } = await createSuite({ name: "Old name", slug: "old" })
    await createSuite({ name: "Another", slug: "another" })
    expect((await put("old", { suite_slug: "old" })).body.suite).to.include({ slug: "old", revision: 1 })
    expect((await put("old", { suite_slug: "fresh" })).body.suite).to.include({ id, slug: "fresh", name: "Old name" })
    for (const slug of ["old", "fresh", id]) expect((await read(slug)).body, slug).to.include({ id, slug: "fresh" })
    // Former slugs also work. The same slug in the body renames nothing.
    expect((await put("old", { suite_slug: "old", description: "By the old name" })).body.suite).to.include({ slug: "fresh" })
    const response = await put("fresh", { suite_slug: "another" })
    expect([response.status, response.body.details.reason]).to.deep.equal([409, "slug_taken"])
    expect((await host.api<Refusal>("POST", "/v1/evals/suites", { name: "Thief", slug: "old" })).body.details.reason).to.equal("slug_taken")
    expect((await put(id, { suite_slug: "old" })).body.suite).to.include({ slug: "old" })
    expect((await read("fresh")).body).to.include({ id, slug: "old" })
  })

  it("refuse the second of two changes made for the same revision", async () => {
    const { revision } = await createSuite({ name: "Contested" })
    expect((await put("contested", { pass_threshold: 1, expected_revision: revision })).status).to.equal(200)
    const late = await put("contested", { pass_threshold: 2, expected_revision: revision })
    expect([late.status, late.body.code, late.body.details.reason]).to.deep.equal([409, "aborted", "revision_mismatch"])
    const both = await Promise.all([put("contested", { pass_threshold: 3 }), put("contested", { pass_threshold: 4 })])
    expect(both.map(({ status }) => status).sort()).to.satisfy((all: number[]) => all[0] === 200 && (all[1] === 200 || all[1] === 409))
    const { body } = await read("contested")
    expect(body.revision).to.equal(2 + both.filter(({ status }) => status === 200).length)
  })

  it("run at night in the organization's time zone, and follow a change of it", async () => {
    await host.api("PATCH", "/v1/organization", { time_zone: "Asia/Tokyo" })
    const { id } = await createSuite({ name: "Nightly", cron_enabled: true })
    expect((await nights(id)).map(({ timezone, cron }) => [timezone, cron])).to.deep.equal([["Asia/Tokyo", "0 3 * * *"]])
    await host.api("PATCH", "/v1/organization", { time_zone: "America/New_York" })
    expect((await nights(id)).map(({ timezone }) => timezone)).to.deep.equal(["America/New_York"])
    await put("nightly", { cron_enabled: false })
    expect(await nights(id)).to.deep.equal([])
    await put("nightly", { cron_enabled: true })
    await host.api("DELETE", "/v1/evals/suites/nightly")
    expect(await nights(id)).to.deep.equal([])
    expect((await read("nightly")).status).to.equal(404)
    expect((await host.api<Refusal>("PATCH", "/v1/organization", { time_zone: "Mars/Base" })).status).to.equal(400)
  })

  it("hold cases, whose slugs are theirs alone", async () => {
    await createSuite({ name: "With cases" })
    await createSuite({ name: "Without" })
    const input = { name: "Hours", input: "When are you open?", expectation: "Says 9 to 17." }
    const item = (await host.api<{ slug: string; revision: number; critical: boolean }>("POST", "/v1/evals/suites/with-cases/cases", input))
      .body
    expect(item).to.include({ slug: "hours", revision: 1, critical: false })
    const changed = await host.api("PATCH", "/v1/evals/suites/with-cases/cases/hours", { critical: true, expected_revision: 1 })
    expect(changed.body).to.include({ critical: true, revision: 2, expectation: "Says 9 to 17." })
    expect((await host.api<Refusal>("GET", "/v1/evals/suites/without/cases/hours")).body.details.reason).to.equal("case_not_found")
    expect(
      (await host.api<{ cases: { slug: string }[] }>("GET", "/v1/evals/suites/with-cases/cases")).body.cases.map(({ slug }) => slug),
    ).to.deep.equal(["hours"])
    await host.api("DELETE", "/v1/evals/suites/with-cases/cases/hours")
    expect((await host.api<{ cases: unknown[] }>("GET", "/v1/evals/suites/with-cases/cases")).body.cases).to.deep.equal([])
  })

  it("say what is missing: the suite, a place for another case", async () => {
    expect((await read("nowhere")).body.details.reason).to.equal("suite_not_found")
    const { id } = await createSuite({ name: "Full" })
    const cases = Array.from({ length: 500 }, (_, place) => ({
      ...{ id: randomUUID(), suite_id: id, slug: `case-${place}`, name: "Case", input: "?", expectation: "!", rubric: "", critical: false },
      ...{ source: null, revision: 1, created_at: "2026-01-01T00:00:00.000Z", updated_at: "2026-01-01T00:00:00.000Z" },
    }))
    await host.get(UnitsOfWork).run((work) => {
      for (const item of cases) work.in(collectionNamed(host, "eval_cases"), host.organization.id).insert(item)
    })
    const full = await host.api<Refusal>("POST", "/v1/evals/suites/full/cases", { name: "One more", input: "?", expectation: "!" })
    expect([full.status, full.body.details.reason]).to.deep.equal([400, "suite_full"])
  })

  it("name agents, which are reached through connections of the organization and hold no secret", async () => {
    const credentials = { base_url: "https://agent.example.com", headers: { Authorization: "Bearer agent-secret" } }
    await host.api("POST", "/v1/integrations-connect", { app: "http", name: "Agent", credentials, share_with_org: true })
    const agent = { key: "desk", name: "Desk", protocol: "webhook", integration: "agent" }
    const answer = await host.api("POST", "/v1/agents", agent)
    expect(answer.body).to.include({ ...agent, path: "/", timeout_ms: 60_000 })
    expect(JSON.stringify((await host.api("GET", "/v1/agents")).body)).to.not.include("agent-secret")
    expect((await host.api<Refusal>("POST", "/v1/agents", agent)).body.details.reason).to.equal("slug_taken")
    const unconnected = await host.api<Refusal>("POST", "/v1/agents", { ...agent, key: "other", integration: "nothing" })
    expect([unconnected.status, unconnected.body.details.reason]).to.deep.equal([404, "agent_connection_missing"])
    expect((await host.api("PATCH", "/v1/agents/desk", { path: "/chat", expected_revision: 1 })).body).to.include({
      path: "/chat",
      revision: 2,
    })
    await host.api("DELETE", "/v1/agents/desk")
    expect((await host.api<Refusal>("GET", "/v1/agents/desk")).body.details.reason).to.equal("agent_not_found")
  })

  describe("cases of what came", () => {
    const capture = (body: object) =>
      host.api<{ slug: string; name: string; input: string; source: object } & Refusal>("POST", "/v1/evals/suites/captured/capture", {
        expectation: "Greets Ada.",
        ...body,
      })
    let pipeline: { slug: string; inbound_url: string }
    before(async () => {
      await createSuite({ name: "Captured" })
      const input = { name: "Visits", auth_mode: "none", state: "active", pipeline: [{ type: "respond", body: { ok: true } }] }
      pipeline = (await host.api<typeof pipeline>("POST", "/v1/event-pipelines", input)).body
    })
    const executions = async () =>
      (await host.api<{ executions: { id: string }[] }>("GET", `/v1/event-pipelines/${pipeline.slug}/executions`)).body.executions

    it("hold an event's payload without what looks like a secret", async () => {
      await host.send(pipeline, { name: "Ada", api_key: "sk-very-secret", nested: { password: "hunter2" } })
      const [execution] = await executions()
      const source = { kind: "event", pipeline: pipeline.slug, execution_id: execution?.id }
      const { status, body } = await capture({ source, instruction: "Answer this visitor.", critical: true })
      expect([status, body.name]).to.deep.equal([200, "Event of visits"])
      expect(body.input).to.match(/^Answer this visitor\.\n\n\{.*"name":"Ada"/)
      expect(body.input).to.include("[redacted]")
      expect(JSON.stringify(body)).to.not.match(/sk-very-secret|hunter2/)
      expect(body.source).to.deep.equal({ kind: "event", pipeline_slug: "visits", execution_id: execution?.id })
      expect((await capture({ source })).body.slug).to.equal("event-of-visits-2")
    })

    it("hold a page's text, of the variant that is named", async () => {
      const variants = [
        { key: "a", html: "<h1>Long</h1><script>var token='x'</script>" },
        { key: "b", html: "<h1>Short</h1><p>password: hunter2</p>" },
      ]
      await host.api("POST", "/v1/pages", { title: "Offer", slug: "offer", variants })
      const { body } = await capture({ source: { kind: "page", page: "offer", variant: "b" } })
      expect(body.input).to.include("# Short").and.to.not.include("hunter2")
      expect((await capture({ source: { kind: "page", page: "offer" } })).body.input).to.equal("# Long")
    })

    it("are refused of what is not there, or not stored any more", async () => {
      const nowhere = "0199f3a2-7c1e-7d40-9b3a-5e2f6c8d1a04"
      for (const source of [
        { kind: "event", pipeline: pipeline.slug, execution_id: nowhere },
        { kind: "page", page: "offer", variant: "z" },
      ]) {
        const { status, body } = await capture({ source })
        expect([status, body.details.reason]).to.deep.equal([404, "case_source_not_found"])
      }
      expect((await capture({ source: { kind: "page", page: "nowhere" } })).status).to.equal(404)
      expect((await capture({ source: { kind: "conversation", id: "x" } })).status).to.equal(400)
    })
  })

  it("do not run without a model, and say which setting is missing", async () => {
    await createSuite({ name: "Unjudged", agent_key: "counter" })
    const refused = await host.api<Refusal>("POST", "/v1/evals/suites/unjudged/runs", {})
    expect(refused.status).to.equal(400)
    expect(refused.body.details).to.deep.include({ reason: "model_not_configured", setting: "plugins.settings.models.judge" })
    expect((await host.api<{ runs: unknown[] }>("GET", "/v1/evals/suites/unjudged/runs")).body.runs).to.deep.equal([])
  })
})
