// One story over organizations, agents and workstreams: the read model after each step, and refusals. On MongoDB there are two
// nodes. An end on one node has taken effect on the other by the time of the answer.
import { expect } from "chai"
import { UnitsOfWork } from "#core"
import { type TestHost, type TestHostOptions, testHost } from "#core/testing"
import { ApiKeys, Organizations } from "../../../plugins/platform/organizations/index.ts"
import { onBothStores } from "../../pipeline/stores.ts"
import { until } from "../../waiting.ts"
import { type AgentServer, agentServer } from "../evals/agent-server.ts"
import { type ModelServer, modelServer } from "../models/model-server.ts"
import { type Assignment, type Refusal, requireExact, type Whole } from "./bench.ts"

interface Managed {
  readonly organizations: { readonly slug: string; readonly role: string }[]
  readonly adoptable_organizations: unknown[]
  readonly managed_by: { readonly slug: string; readonly role: string } | null
}

onBothStores("a managed organization's workstream", ({ storage }) => {
  let agent: AgentServer
  let models: ModelServer
  const nodes: TestHost[] = []
  let client: { id: string; key: string }
  let manager: string
  before(async () => {
    ;[agent, models] = [await agentServer(), await modelServer()]
    const prices = { input: 1_000_000, output: 1_000_000 }
    const settings = { models: { default: { base_url: models.url, model: "m-1", prices }, max_retries: 0 } }
    const store = await storage()
    const env = {
      ...store,
      MILLRACE_OUTGOING_ALLOW_HOSTS: new URL(agent.url).host,
      MILLRACE_JOBS_POLL_MS: "50",
      MILLRACE_PLUGINS_SETTINGS: JSON.stringify(settings),
    }
    const start = async (options: TestHostOptions) => nodes.push(await testHost({ capture: false, env, ...options }))
    await start({})
    if (Object.keys(store).length > 0) await start({ dataDir: first().dataDir })
    client = await first()
      .get(UnitsOfWork)
      .run((work) => {
        const [organizations, keys] = [first().get(Organizations), first().get(ApiKeys)]
        const { id } = organizations.create(work, { name: "Bakery", slug: "bakery" })
        const user = organizations.addUser(work, { email: "baker@example.com", name: "Baker" })
        organizations.addMember(work, id, user.id, "owner")
        const keyOptions = { name: "k", kind: "api_key", role: "owner", scopes: null, user: user.id } as const
        return { id, key: keys.mint(work, id, keyOptions).text }
      })
    const response = await first().api<{ secret: string }>("POST", "/v1/api-keys", { name: "Manager", role: "admin", manager: true })
    manager = response.body.secret
  })
  after(async () => {
    for (const node of nodes.reverse()) await node.stop()
    await agent.close()
    await models.close()
  })

  const first = (): TestHost => nodes[0] as TestHost
  const asManager = () => ({ key: manager, headers: { "x-organization-id": "bakery" } })
  const asClient = () => ({ key: client.key })
  const ok = async <T>(method: string, path: string, body: unknown, options: { key?: string; headers?: Record<string, string> }) => {
    const answer = await first().api<T>(method, path, body, options)
    expect(answer.status, `${method} ${path}: ${JSON.stringify(answer.body)}`).to.equal(200)
    return answer.body
  }
  const whole = async () => {
    const read = await ok<Whole>("GET", "/v1/workstreams/launch", undefined, asClient())
    requireExact(read)
    return read
  }
  const ofCopy = (what: string, body: object, options: object = asManager()) =>
    first().api<Assignment & Refusal>("POST", `/v1/workstreams/launch/assignments/copy/${what}`, body, options)
  const attempted = (state: string) =>
    until(`the attempt being ${state}`, async () => {
      const [copy] = (await whole()).assignments
      return copy?.latest_attempt?.state === state ? copy : undefined
    })

  it("is linked by an invitation that the client's owner accepts, and listed on both sides", async () => {
    const unlinked = await first().api<Refusal>("GET", "/v1/me", undefined, asManager())
    expect([unlinked.status, unlinked.body.details.reason]).to.deep.equal([404, "organization_not_accessible"])
    const invited = await ok<{ id: string; code: string }>("POST", "/v1/managed-organization-invitations", { role: "admin" }, {})
    const response = await first().api("GET", "/v1/managed-organization-invitations")
    expect(JSON.stringify(response.body)).to.contain(invited.id).and.to.not.contain(invited.code)
    const accept = (code: string, options: object = asClient()) =>
      first().api<Refusal>("POST", "/v1/managed-organizations-accept", { code }, options)
    expect((await accept("mr_invite_nothing")).body.details.reason).to.equal("invitation_not_found")
    expect((await accept(invited.code, {})).body.details.reason).to.equal("already_managed")
    expect((await accept(invited.code)).status).to.equal(200)
    expect((await accept(invited.code)).body.details.reason).to.equal("invitation_not_found")
    const list = (options: object) => ok<Managed>("GET", "/v1/managed-organizations", undefined, options)
    expect((await list({})).organizations.map(({ slug, role }) => [slug, role])).to.deep.equal([["bakery", "admin"]])
    expect((await list(asClient())).managed_by).to.include({ slug: "default", role: "admin" })
    expect((await list({ key: manager })).adoptable_organizations).to.deep.equal([])
    const me = await ok<{ organization: { slug: string }; role: string }>("GET", "/v1/me", undefined, asManager())
    expect([me.organization.slug, me.role]).to.deep.equal(["bakery", "admin"])
  })

  it("is opened by the manager's key from a template, and worked on by an agent that proposes a result", async () => {
    await ok("POST", "/v1/agents", { key: "writer", name: "Writer", protocol: "model" }, asClient())
    const assignments = [{ slug: "copy", objective: "Write the copy.", phase_slug: "draft", assigned_agent_key: "writer" }]
    const template = { title: "Launch", token_budget_millicents: 2_100, phases: [{ slug: "draft", title: "Draft" }], assignments }
    await ok("POST", "/v1/workstream-templates", template, asClient())
    const opened = await ok<Whole>("POST", "/v1/workstreams", { template: "launch" }, asManager())
    expect(opened.workstream).to.include({ status: "draft", spent_millicents: 0 })
    expect(await whole()).to.deep.equal({ ...opened, following: false })
    await ok("POST", "/v1/workstreams/launch/transitions", { event: "start" }, asManager())
    expect((await ofCopy("transitions", { event: "begin" })).body.work_state).to.equal("in_progress")
    expect((await ofCopy("attempts", {})).body.latest_attempt).to.include({ state: "running", attempt_number: 1 })
    const proposed = await attempted("submitted")
    expect(proposed).to.include({ adoption_state: "proposed", work_state: "in_progress" })
    expect((await whole()).workstream.spent_millicents).to.equal(120)
  })

  it("has its result adopted by a person, not by the manager's key", async () => {
    const refused = await ofCopy("transitions", { event: "accept" })
    expect([refused.body.details.reason, refused.body.details.guard]).to.deep.equal(["transition_guarded", "by_decider"])
    expect((await whole()).assignments[0]?.adoption_state).to.equal("proposed")
    expect((await ofCopy("transitions", { event: "accept" }, asClient())).body.adoption_state).to.equal("accepted")
    expect((await whole()).assignments[0]).to.include({ adoption_state: "accepted", work_state: "in_progress" })
  })

  it("has a decision that supersedes another", async () => {
    const decisions = "/v1/workstreams/launch/decisions"
    await ok("POST", decisions, { decision: "print", what: "Print." }, asManager())
    await ok("POST", `${decisions}/print/transitions`, { event: "authorize" }, asClient())
    await ok("POST", decisions, { decision: "web", what: "Web.", supersedes_decision_slug: "print" }, asManager())
    await ok("POST", `${decisions}/web/transitions`, { event: "authorize" }, asClient())
    const { current_decisions, recent_decisions } = await whole()
    expect(current_decisions.map(({ slug, status }) => [slug, status])).to.deep.equal([["web", "authorized"]])
    expect(recent_decisions.map(({ slug, superseded_by_decision_slug: by }) => [slug, by])).to.deep.equal([["print", "web"]])
  })

  it("is refused what its budget does not hold", async () => {
    await ofCopy("transitions", { event: "revoke" }, asClient())
    await ofCopy("attempts", {})
    expect((await attempted("failed")).latest_attempt?.terminal_reason).to.contain("spent 120 of its 2100 millicents")
    await ok("PATCH", "/v1/workstreams/launch", { token_budget_millicents: 120 }, asClient())
    const refused = await ofCopy("attempts", {})
    expect([refused.status, refused.body.details.reason]).to.deep.equal([429, "workstream_budget_spent"])
    expect((await whole()).workstream.spent_millicents).to.equal(120)
  })

  it("names both organizations in the audit log", async () => {
    const log = await ok<{ audit_log: { operation: string; actor: { organization_id: string | null } }[] }>(
      "GET",
      "/v1/audit-log?operation=workstreams.create",
      undefined,
      asClient(),
    )
    expect(log.audit_log.map(({ actor }) => actor.organization_id)).to.deep.equal([first().organization.id])
    const own = await ok<typeof log>("GET", "/v1/audit-log?operation=workstream_templates.create", undefined, asClient())
    expect(own.audit_log[0]?.actor.organization_id).to.equal(null)
  })

  it("uses what its manager lends", async () => {
    const connection = { app: "http", name: "Lent", credentials: { base_url: agent.url }, managed_access: "managed_organizations" }
    await ok("POST", "/v1/integrations-connect", connection, {})
    const worker = { key: "worker", name: "Worker", protocol: "webhook", integration: "lent", path: "/work" }
    await ok("POST", "/v1/agents", worker, asClient())
    await ok("POST", "/v1/agent-runs", { agent_key: "worker", input: "Anything" }, asClient())
    await until("the agent being asked", () => agent.asked.length === 1)
  })

  it("ends with the link, on every node before the answer, with the keys that the manager made", async () => {
    const key = await ok<{ secret: string }>("POST", "/v1/api-keys", { name: "Left behind", role: "admin" }, asManager())
    for (const node of nodes) expect((await node.api("GET", "/v1/me", undefined, { key: key.secret })).status).to.equal(200)
    for (const node of nodes) expect((await node.api("GET", "/v1/me", undefined, asManager())).status).to.equal(200)
    const own = await first().api<Refusal>("DELETE", "/v1/managed-organizations/default", undefined, asManager())
    expect(own.body.details.reason).to.equal("acts_for_client")
    await ok("DELETE", "/v1/managed-organizations/default", undefined, asClient())
    for (const node of nodes) {
      const response = await node.api<Refusal>("GET", "/v1/workstreams/launch", undefined, asManager())
      expect([response.status, response.body.details.reason]).to.deep.equal([404, "organization_not_accessible"])
      const answer = await node.api<Refusal>("GET", "/v1/me", undefined, { key: key.secret })
      expect([answer.status, answer.body.details.reason]).to.deep.equal([401, "credential_revoked"])
    }
    expect((await first().api<Managed>("GET", "/v1/managed-organizations")).body.organizations).to.deep.equal([])
    const run = await ok<{ id: string }>("POST", "/v1/agent-runs", { agent_key: "worker", input: "More" }, asClient())
    const ended = await until("the run to fail", async () => {
      const now = await ok<{ state: string; terminal_reason: string }>("GET", `/v1/agent-runs/${run.id}`, undefined, asClient())
      return now.state === "failed" ? now : undefined
    })
    expect(ended.terminal_reason).to.contain("lent")
    expect(agent.asked).to.have.length(1)
    expect((await whole()).workstream.status).to.equal("active")
  })
})
