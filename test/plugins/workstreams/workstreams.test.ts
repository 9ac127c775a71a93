// Workstreams for people and agents: the read model after each step, budgets, external refs, and refusals.
import { expect } from "chai"
import { z } from "zod"
import { type Json, Store, UnitsOfWork } from "#core"
import { Operations } from "../../../core/contract/operation.ts"
import { ApiKeys } from "../../../plugins/platform/organizations/index.ts"
import { runMillrace } from "../../cli/command-line.ts"
import { rivalOf } from "../../rival-commits.ts"
import { until } from "../../waiting.ts"
import { collectionNamed } from "../collection-named.ts"
import { type Assignment, type Decision, type Refusal, requireExact, type Whole, WorkstreamBench } from "./bench.ts"

describe("workstreams", () => {
  let bench: WorkstreamBench
  const parts = () => collectionNamed(bench.host, "workstream_parts")
  let serviceKey: string
  before(async () => {
    bench = await WorkstreamBench.open()
    const keyOptions = { name: "service", kind: "api_key", role: "admin", scopes: null, user: null } as const
    serviceKey = await bench.host
      .get(UnitsOfWork)
      .run((work) => bench.host.get(ApiKeys).mint(work, bench.host.organization.id, keyOptions).text)
  })
  after(() => bench.close())
  beforeEach(() => bench.models.answer(() => "A headline"))

  const decide = (slug: string, decision: string, event: string, more: object = {}, options: object = {}) =>
    bench.call<Decision & Refusal>("POST", `/${slug}/decisions/${decision}/transitions`, { event, ...more }, options)

  const overMcp = async (call: object) => {
    const { url, adminKey } = bench.host
    const headers = {
      authorization: `Bearer ${adminKey}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    }
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: call })
    return await (await fetch(`${url}/mcp`, { method: "POST", headers, body })).text()
  }

  it("have exactly the fields of the specification, in a read of the whole", async () => {
    const slug = await bench.inWork("exact")
    const thread = await bench.host.api<{ id: string }>("POST", "/v1/threads", { title: "Notes" })
    await bench.ok("POST", `/${slug}/phases`, { phase: "draft", title: "Draft" })
    await bench.ok("POST", `/${slug}/decisions`, { decision: "channel", what: "Print" })
    await bench.ok("POST", `/${slug}/resources`, { resource_type: "thread", resource_id: thread.body.id, relationship_type: "uses" })
    await bench.ok("POST", `/${slug}/assignments/copy/attempts`)
    await bench.attempted(slug, "submitted")
    const whole = await bench.ok("GET", `/${slug}`)
    requireExact(whole)
    for (const list of [whole.assignments, whole.current_decisions, whole.events, whole.phases, whole.resources])
      expect(list).to.not.deep.equal([])
    expect(whole.assignments[0]?.latest_attempt).to.not.equal(null)
  })

  it("begin from a template, with its phases and assignments", async () => {
    const template = {
      title: "Launch",
      token_budget_millicents: 700,
      phases: [
        { slug: "later", title: "Later" },
        { slug: "earlier", title: "Earlier" },
      ],
      assignments: [{ slug: "copy", objective: "Write.", phase_slug: "later", assigned_agent_key: "writer" }],
    }
    const response = await bench.host.api<{ id: string; slug: string }>("POST", "/v1/workstream-templates", template)
    const whole = await bench.ok("POST", "", { template: "launch" })
    expect(whole.workstream).to.include({ status: "draft", slug: "launch", source_template_id: response.body.id })
    expect(whole.phases.map(({ slug }) => slug)).to.deep.equal(["later", "earlier"])
    expect(whole.assignments).to.have.length(1)
    expect(whole.assignments[0]).to.include({ slug: "copy", assigned_agent_key: "writer", work_state: "planned", adoption_state: "none" })
    expect(whole).to.deep.equal(await bench.ok("GET", "/launch"))
    const twice = { title: "Twice", assignments: [{ slug: "a", objective: "x", phase_slug: "none" }], phases: [] }
    const refused = await bench.host.api<Refusal>("POST", "/v1/workstream-templates", twice)
    expect([refused.body.details.reason, refused.body.details.fields?.[0]?.path]).to.deep.equal([
      "unknown_template_phase",
      "assignments.0.phase_slug",
    ])
    expect((await bench.call("POST", "", { template: "none" })).body.details.reason).to.equal("workstream_template_not_found")
    expect((await bench.call("POST", "", {})).body.details.fields?.[0]?.path).to.equal("title")
  })

  it("show a result that an agent proposes as proposed, until a person adopts it", async () => {
    const slug = await bench.inWork("adopt")
    const assignment = await bench.ok<Assignment>("POST", `/${slug}/assignments/copy/attempts`, { input: "Short." })
    expect(assignment.latest_attempt).to.include({ attempt_number: 1, state: "running" })
    const proposed = await bench.attempted(slug, "submitted")
    expect(proposed).to.include({ adoption_state: "proposed", work_state: "in_progress" })
    expect(proposed.latest_attempt?.summary).to.equal("A headline")
    const query = bench.models.asked.at(-1)?.text ?? ""
    expect(query).to.contain("Write the copy.").and.to.contain("Short.")
    const again = await bench.call("POST", `/${slug}/assignments/copy/attempts`)
    expect([again.body.details.reason, again.body.details.guard]).to.deep.equal(["transition_guarded", "rejected"])
    const byService = await bench.call("POST", `/${slug}/assignments/copy/transitions`, { event: "accept" }, { key: serviceKey })
    expect([byService.body.details.reason, byService.body.details.guard]).to.deep.equal(["transition_guarded", "by_decider"])
    expect((await bench.copy(slug)).adoption_state).to.equal("proposed")
    const accepted = await bench.move(slug, "accept", { reason: "Good." })
    expect(accepted).to.include({ adoption_state: "accepted", work_state: "in_progress" })
    const { workstream, events } = await bench.ok("GET", `/${slug}`)
    expect(workstream.spent_millicents).to.equal(120)
    expect(events.some(({ actor_type, body }) => actor_type === "agent" && body.includes("proposes a result"))).to.equal(true)
  })

  it("keep an attempt that failed, was withdrawn, or was canceled with its run", async () => {
    const slug = await bench.inWork("attempts", "worker")
    bench.agent.answer(() => ({ status: 400 }))
    await bench.ok("POST", `/${slug}/assignments/copy/attempts`)
    expect((await bench.attempted(slug, "failed")).latest_attempt?.terminal_reason).to.contain("answered 400")
    bench.agent.answer(() => ({ status: 202 }))
    const { latest_attempt } = await bench.ok<Assignment>("POST", `/${slug}/assignments/copy/attempts`)
    const run = `/v1/agent-runs/${latest_attempt?.agent_run_id}`
    await until("the run waiting", async () => (await bench.host.api<{ state: string }>("GET", run)).body.state === "waiting")
    const early = await bench.call("POST", `/${slug}/assignments/copy/attempts/end`, { event: "submit", summary: "Mine" })
    expect(early.body.details.guard).to.equal("own_run")
    await bench.ok("POST", `/${slug}/assignments/copy/attempts/end`, { event: "cancel" })
    expect((await bench.host.api<{ state: string }>("GET", run)).body.state).to.equal("canceled")
    bench.agent.answer(() => "Here.")
    await bench.ok("POST", `/${slug}/assignments/copy/attempts`)
    await bench.attempted(slug, "submitted")
    expect(await bench.ok("POST", `/${slug}/assignments/copy/attempts/end`, { event: "withdraw" })).to.include({ adoption_state: "none" })
    const { attempts } = await bench.ok<{ attempts: { attempt_number: number; state: string }[] }>(
      "GET",
      `/${slug}/assignments/copy/attempts`,
    )
    expect(attempts.map(({ state }) => state)).to.deep.equal(["withdrawn", "canceled", "failed"])
  })

  it("let a person be responsible, who submits what was made", async () => {
    const me = (await bench.host.api<{ user: { id: string } }>("GET", "/v1/me")).body.user.id
    const slug = await bench.inWork("person", `human:${me}`)
    await bench.ok("POST", `/${slug}/assignments/copy/attempts`)
    const handles = [{ resource_type: "page", resource_id: "p", revision_ref: "1" }]
    const ended = await bench.ok<Assignment>("POST", `/${slug}/assignments/copy/attempts/end`, {
      event: "submit",
      summary: "Done",
      handles,
    })
    expect(ended.latest_attempt).to.deep.include({ state: "submitted", agent_run_id: null, handles })
    expect(ended.adoption_state).to.equal("proposed")
    const nobody = await bench.call("POST", `/${slug}/assignments/copy/transitions`, {
      event: "assign",
      assigned_agent_key: "human:nobody",
    })
    expect(nobody.body.details.reason).to.equal("assignee_not_found")
  })

  it("charge models to the budget, and refuse what it does not hold", async () => {
    // An estimate is an upper bound: 2,000 tokens of answer plus the input.
    const slug = await bench.inWork("budget", "writer", { token_budget_millicents: 2_100 })
    await bench.ok("POST", `/${slug}/assignments/copy/attempts`)
    await bench.attempted(slug, "submitted")
    await bench.move(slug, "reject")
    await bench.ok("POST", `/${slug}/assignments/copy/attempts`)
    const refused = await bench.attempted(slug, "failed")
    expect(refused.latest_attempt?.terminal_reason).to.contain("spent 120 of its 2100 millicents")
    expect((await bench.ok("GET", `/${slug}`)).workstream.spent_millicents).to.equal(120)
    await bench.ok("PATCH", `/${slug}`, { token_budget_millicents: 120 })
    const spent = await bench.call("POST", `/${slug}/assignments/copy/attempts`)
    expect([spent.status, spent.body.details.reason]).to.deep.equal([429, "workstream_budget_spent"])
  })

  it("supersede a decision when another is authorized, and tell both from one snapshot", async () => {
    const slug = await bench.inWork("decisions")
    const propose = (decision: string, more: object = {}) => bench.ok("POST", `/${slug}/decisions`, { decision, what: decision, ...more })
    await propose("print")
    expect((await decide(slug, "print", "authorize", { rationale: "Read." })).body).to.include({
      status: "authorized",
      decider_kind: "person",
    })
    await propose("web", { supersedes_decision_slug: "print" })
    await propose("tv", { supersedes_decision_slug: "print" })
    const byService = await decide(slug, "web", "authorize", {}, { key: serviceKey })
    expect(byService.body.details.guard).to.equal("by_decider")
    const slugs = (decisions: readonly Decision[]) => decisions.map((decision) => decision.slug)
    expect(slugs((await bench.ok("GET", `/${slug}`)).current_decisions)).to.deep.equal(["tv", "web", "print"])
    await decide(slug, "web", "authorize")
    const whole = await bench.ok("GET", `/${slug}`)
    expect(slugs(whole.current_decisions)).to.deep.equal(["tv", "web"])
    expect(whole.recent_decisions).to.have.length(1)
    expect(whole.recent_decisions[0]).to.include({ slug: "print", status: "superseded", superseded_by_decision_slug: "web" })
    expect((await decide(slug, "tv", "authorize")).body.details.guard).to.equal("superseded_stands")
    await decide(slug, "web", "begin")
    expect((await decide(slug, "web", "report_achieved")).body.details.guard).to.equal("executed")
    await decide(slug, "web", "succeed")
    const reported = (await decide(slug, "web", "report_achieved", { outcome_label: "12 leads" })).body
    expect(reported).to.include({ execution_status: "executed", outcome_status: "achieved", status: "authorized" })
    // Its id is another name for it; the stored value is the slug.
    const stored = await bench.host.get(Store).open(parts(), bench.host.organization.id).first({ kind: "decision", slug: "web" })
    expect(await propose("radio", { supersedes_decision_slug: stored?.id })).to.include({ supersedes_decision_slug: "web" })
    expect((await decide(slug, "radio", "authorize")).body).to.include({ status: "authorized" })
    const nowhere = "0199f3a2-7c1e-7d40-9b3a-5e2f6c8d1a04"
    expect((await bench.call("POST", `/${slug}/decisions`, { decision: "x", what: "x", approval_id: nowhere })).status).to.equal(404)
    const unknown = await bench.call("POST", `/${slug}/decisions`, { decision: "x", what: "x", supersedes_decision_slug: "none" })
    expect(unknown.body.details.reason).to.equal("workstream_part_not_found")
  })

  it("count escalations by the day", async () => {
    const slug = await bench.inWork("escalate", "writer", { escalation_budget_per_day: 2 })
    const ask = () => bench.call<{ escalations_today: number } & Refusal>("POST", `/${slug}/escalations`, { reason: "Help." })
    expect([(await ask()).body.escalations_today, (await ask()).body.escalations_today]).to.deep.equal([1, 2])
    const third = await ask()
    expect([third.status, third.body.details.reason]).to.deep.equal([429, "escalations_spent"])
    await bench.host.clock.move(86_400_000)
    expect((await until("an answer", async () => ((await ask()).status === 200 ? ask() : undefined))).body.escalations_today).to.equal(2)
    await bench.ok("PATCH", `/${slug}`, { escalation_budget_per_day: 4 })
    const before = (await bench.ok("GET", `/${slug}`)).events.length
    const together = (await Promise.all(Array.from({ length: 8 }, ask))).filter(({ status }) => status === 200)
    expect(together.length).to.be.within(1, 2)
    expect((await bench.ok("GET", `/${slug}`)).events.length - before).to.equal(together.length)
  })

  it("name the agent that acts with the key of a user", async () => {
    await bench.ok("POST", "", { title: "Acted", slug: "acted" })
    const call = { name: "workstreams_update", arguments: { slug: "acted", expected_revision: 1, title: "Acted on" } }
    expect(await overMcp(call)).to.not.match(/"error"|"isError":true/)
    const { events } = await bench.ok("GET", "/acted")
    expect(events.map(({ actor_type }) => actor_type)).to.include.members(["user", "agent"])
  })

  it("let no tool, no command and no other operation widen what they govern", async () => {
    const { host } = bench
    const taking = host.runtime.registry
      .items(Operations)
      .filter(({ input }) => JSON.stringify(z.toJSONSchema(input, { io: "input", unrepresentable: "any" })).includes("external_refs"))
    expect(taking.map(({ name }) => name)).to.deep.equal(["workstreams.set_external_refs"])
    await bench.ok("POST", "", { title: "Kept", slug: "kept" })
    const external_refs = [{ provider: "ads", kind: "campaign", external_id: "c" }]
    const call = { name: "workstreams_set_external_refs", arguments: { slug: "kept", expected_revision: 1, external_refs } }
    expect(await overMcp(call)).to.match(/"error"|"isError":true/)
    const env = { MILLRACE_URL: host.url, MILLRACE_KEY: host.adminKey }
    const refs = JSON.stringify(external_refs)
    for (const verb of ["set-external-refs", "set_external_refs"])
      expect((await runMillrace(["workstreams", verb, "--slug", "kept", "--external-refs", refs], { env })).code).to.not.equal(0)
    expect((await bench.ok("GET", "/kept")).workstream).to.deep.include({ external_refs: [], revision: 1 })
  })

  it("take external refs whole, at the revision that they were made for, and over REST alone", async () => {
    const { workstream } = await bench.ok("POST", "", { title: "Refs", slug: "refs" })
    const ref = { provider: "ads", account_id: "1", kind: "campaign", external_id: "c", label: "C" }
    const put = (external_refs: unknown, expected_revision = workstream.revision, options: object = {}) =>
      bench.call("PUT", "/refs/external-refs", { expected_revision, external_refs }, options)
    const stale = await put([ref], 7)
    expect([stale.status, stale.body.details.reason, stale.body.details.current_revision]).to.deep.equal([409, "revision_mismatch", 1])
    const twice = await put([ref, { ...ref, label: "Another label" }])
    expect([twice.body.details.reason, twice.body.details.fields?.[0]?.path]).to.deep.equal(["duplicate_external_refs", "external_refs.1"])
    expect((await put([{ ...ref, external_id: " " }])).body.details.fields?.[0]?.path).to.equal("external_refs.0.external_id")
    const set = await put([ref])
    expect([set.status, set.body.workstream.revision, set.body.workstream.external_refs]).to.deep.equal([200, 2, [ref]])
    expect(set.body).to.deep.equal(await bench.ok("GET", "/refs"))
    await bench.ok("POST", "/refs/decisions", { decision: "channel", what: "Print." })
    for (const list of ["decisions", "events?limit=1", "assignments"]) {
      expect((await bench.ok<{ external_refs: unknown }>("GET", `/refs/${list}`)).external_refs, list).to.deep.equal([ref])
    }
    const now = (await bench.ok("GET", "/refs")).workstream.revision
    expect((await put([], now)).body.workstream.external_refs).to.deep.equal([])
    expect((await put([ref], now)).body.details.reason).to.equal("revision_mismatch")
  })

  it("are changed no more once archived, and count nothing meanwhile as open", async () => {
    const slug = await bench.inWork("archived")
    const open = await bench.call("POST", `/${slug}/archive`)
    expect([open.body.details.reason, open.body.details.guard]).to.deep.equal(["transition_guarded", "settled"])
    await bench.move(slug, "cancel")
    expect((await bench.ok("POST", `/${slug}/archive`)).workstream.status).to.equal("archived")
    for (const [path, body] of [
      ["events", { body: "x" }],
      ["phases", { phase: "x", title: "x" }],
      ["assignments", { assignment: "x", objective: "x" }],
    ] as const)
      expect((await bench.call("POST", `/${slug}/${path}`, body)).body.details.reason).to.equal("workstream_archived")
    expect((await bench.call("GET", "/nowhere")).body.details.reason).to.equal("workstream_not_found")
  })

  it("get no part from a call that an archive overtakes", async () => {
    for (const [path, body] of [
      ["phases", { phase: "x", title: "x" }],
      ["decisions", { decision: "x", what: "x" }],
      ["events", { body: "x" }],
    ] as const) {
      const slug = await bench.inWork(`overtaken-${path}`)
      await bench.move(slug, "cancel")
      const rival = rivalOf(bench.host, "workstreams", 1, {
        only: ({ kind }) => kind === "update",
        async faster() {
          rival.stop()
          await bench.call("POST", `/${slug}/archive`)
        },
      })
      const refused = await bench.call("POST", `/${slug}/${path}`, body)
      expect([rival.met, refused.status], `${path}: ${JSON.stringify(refused.body)}`).to.deep.equal([1, 400])
      const whole = await bench.ok("GET", `/${slug}`)
      expect([whole.workstream.status, whole.phases, whole.current_decisions]).to.deep.equal(["archived", [], []])
    }
  })

  it("do not let a service's own key take the place of persons", async () => {
    const autonomous = { title: "Auto", slug: "auto", autonomy_mode: "autonomous" }
    const refused = await bench.call("POST", "", autonomous, { key: serviceKey })
    expect([refused.status, refused.body.details.reason]).to.deep.equal([403, "for_persons"])
    await bench.inWork("auto", "writer", { autonomy_mode: "autonomous" })
    await bench.ok("POST", "/auto/decisions", { decision: "go", what: "Go." })
    expect((await decide("auto", "go", "authorize", {}, { key: serviceKey })).body).to.include({
      status: "authorized",
      decider_kind: "agent",
    })
  })

  it("follow, tell their channel, and hold no more parts than they may", async () => {
    const slug = await bench.inWork("followed")
    await bench.ok("POST", `/${slug}/follow`)
    expect((await bench.ok("GET", `/${slug}`)).following).to.equal(true)
    expect((await bench.call("GET", `/${slug}`, undefined, { key: serviceKey })).body.following).to.equal(false)
    await bench.ok("POST", `/${slug}/unfollow`)
    expect((await bench.ok("GET", `/${slug}`)).following).to.equal(false)
    const broadcasts = await bench.host.broadcasts(`workstreams:${slug}`)
    expect(broadcasts.map(({ event }) => event)).to.include.members(["created", "moved", "assignment_added", "assignment_moved"])
    const { workstream } = await bench.ok("GET", `/${slug}`)
    await bench.host.get(UnitsOfWork).run((work) => {
      for (let n = 0; n < 100; n++) work.in(parts(), bench.host.organization.id).insert(phase(workstream.id, n) as never)
    })
    const full = await bench.call("POST", `/${slug}/phases`, { phase: "more", title: "More" })
    expect(full.body.details.reason).to.equal("workstream_full")
    expect((await bench.call("POST", `/${slug}/phases`, { phase: "p-1", title: "Again" })).body.details.reason).to.equal("slug_taken")
  })

  it("page through their phases in order and their resources newest first, filtered, and read each alone", async () => {
    const slug = await bench.inWork("paged")
    const inputs = [3, 1, 2, 1].map((sort_order, n) => ({ phase: `p${n}`, title: `P${n}`, sort_order }))
    for (const phase of inputs) await bench.ok("POST", `/${slug}/phases`, phase)
    await bench.ok("POST", `/${slug}/phases/p2/transitions`, { event: "start" })
    const resource_id = bench.host.organization.id
    for (const resource_type of ["page", "dataset", "thread"])
      await bench.ok("POST", `/${slug}/resources`, { resource_type, resource_id, relationship_type: "uses", phase: "p0" })
    type Listed = { phases?: { slug: string }[]; resources?: { id: string; resource_type: string }[]; next_cursor: string }
    const walk = async (path: string, name: (page: Listed) => string[]) => {
      const pages: string[][] = []
      for (let cursor = ""; pages.length === 0 || cursor !== ""; ) {
        const page: Listed = await bench.ok<Listed>("GET", `/${slug}/${path}limit=2&cursor=${encodeURIComponent(cursor)}`)
        pages.push(name(page))
        cursor = page.next_cursor
      }
      return pages
    }
    const phases = (page: Listed) => (page.phases ?? []).map((phase) => phase.slug)
    const types = (page: Listed) => (page.resources ?? []).map(({ resource_type }) => resource_type)
    expect((await walk("phases?", phases)).flat()).to.deep.equal(["p1", "p3", "p2", "p0"])
    expect((await walk("phases?status=in_progress&", phases)).flat()).to.deep.equal(["p2"])
    expect((await walk("resources?", types)).flat()).to.deep.equal(["thread", "dataset", "page"])
    expect((await walk("resources?resource_type=dataset&", types)).flat()).to.deep.equal(["dataset"])
    const whole = await bench.ok("GET", `/${slug}`)
    expect(await bench.ok("GET", `/${slug}/phases/p1`)).to.deep.equal(whole.phases.find((phase) => phase.slug === "p1"))
    const [resource] = whole.resources
    expect(await bench.ok("GET", `/${slug}/resources/${resource?.id}`)).to.deep.equal(resource)
    const elsewhere = await bench.inWork("paged-elsewhere")
    for (const path of ["phases/p1", `resources/${resource?.id}`])
      expect((await bench.call("GET", `/${elsewhere}/${path}`)).body.details.reason).to.equal("workstream_part_not_found")
  })

  it("are read in three queries, however many events they have, and their parts of one instant", async () => {
    const slug = await bench.inWork("queried")
    const { workstream } = await bench.ok("GET", `/${slug}`)
    const store = bench.host.get(Store)
    const open = store.open.bind(store)
    let queries = 0
    let snapshots = 0
    const counted = (spec: { name: string }, organization: string) => {
      const collection = open(spec as never, organization)
      if (!["workstreams", "workstream_parts", "workstream_events"].includes(spec.name)) return collection
      return new Proxy(collection, {
        get(target, name) {
          if (["get", "first", "find", "count", "stream"].includes(String(name))) queries++
          const member = Reflect.get(target, name) as unknown
          if (typeof member !== "function") return member
          return (...inputs: { snapshot?: boolean }[]) => {
            if (spec.name === "workstream_parts" && inputs[1]?.snapshot) snapshots++
            return Reflect.apply(member, target, inputs) as unknown
          }
        },
      })
    }
    store.open = counted as unknown as typeof store.open
    try {
      for (const ref of [slug, workstream.id]) {
        queries = 0
        snapshots = 0
        await bench.ok<Whole>("GET", `/${ref}`)
        expect([queries, snapshots]).to.deep.equal([3, 1])
      }
    } finally {
      store.open = open as typeof store.open
    }
  })
})

function phase(workstream_id: string, n: number): Record<string, Json> {
  const at = new Date(0).toISOString()
  const [id, slug] = [`0199f3a2-7c1e-7d40-9b3a-${String(n).padStart(12, "0")}`, `p-${n}`]
  const own = { kind: "phase", title: slug, status: "pending", skill_slug: "", thread_id: null, sort_order: n, started_at: null }
  return { id, workstream_id, slug, revision: 1, created_at: at, updated_at: at, completed_at: null, ...own }
}
