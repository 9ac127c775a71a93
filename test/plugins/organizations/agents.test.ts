// Agents in each area: tokens of the kind agent over REST, and the key of a user over MCP. Their calls never count as a person's.
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { Operations } from "../../../core/contract/operation.ts"

interface Refusal {
  readonly code?: string
  readonly details?: { readonly reason?: string; readonly guard?: string }
}

describe("agents", () => {
  let host: TestHost
  let agent: string
  let credential: string
  before(async () => {
    host = await testHost()
    const areas = [
      "api_keys",
      "managed_organizations",
      "experiments",
      "integrations",
      "members",
      "organization",
      "organizations",
      "suppressions",
      "workstreams",
      "workstream_templates",
      "autonomy",
    ]
    const scopes = ["mcp", ...areas.map((area) => `${area}:write`)]
    const response = await host.api<{ secret: string; id: string }>("POST", "/v1/api-keys", {
      name: "Agent",
      kind: "agent",
      role: "owner",
      scopes,
    })
    agent = response.body.secret
    credential = (await host.api<{ api_keys: { id: string; kind: string }[] }>("GET", "/v1/api-keys")).body.api_keys.find(
      ({ kind }) => kind === "api_key",
    )?.id as string
    expect(response.body.id).to.be.a("string")
  })
  after(() => host.stop())

  const byToken = async (method: string, path: string, input: object) =>
    JSON.stringify((await host.api<object>(method, path, input, { key: agent })).body)
  const byMcp = async (name: string, input: object) => {
    const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: input } }
    const headers = { accept: "application/json, text/event-stream" }
    return JSON.stringify((await host.api<object>("POST", "/mcp?tools=all", call, { headers })).body)
  }

  it("do not authorize a decision of a supervised workstream, and are recorded as agents in an autonomous one", async () => {
    for (const [slug, autonomy_mode] of [
      ["held", "supervised"],
      ["free", "autonomous"],
    ] as const) {
      expect((await host.api("POST", "/v1/workstreams", { title: slug, slug, autonomy_mode })).status).to.equal(200)
      for (const decision of ["one", "two"]) await host.api("POST", `/v1/workstreams/${slug}/decisions`, { decision, what: "Go." })
      const path = `/v1/workstreams/${slug}/decisions`
      const token = await byToken("POST", `${path}/one/transitions`, { event: "authorize" })
      const tool = await byMcp("workstreams_move_decision", { slug, decision: "two", event: "authorize" })
      for (const answer of [token, tool]) expect(answer).to.include(slug === "held" ? "by_decider" : "authorized")
      const { body } = await host.api<{ decisions: { status: string; decider_kind: string }[] }>("GET", path)
      const expected = slug === "held" ? ["proposed", ""] : ["authorized", "agent"]
      for (const { status, decider_kind } of body.decisions) expect([status, decider_kind]).to.deep.equal(expected)
    }
    for (const mode of [
      await byToken("PATCH", "/v1/workstreams/held", { autonomy_mode: "autonomous" }),
      await byMcp("workstreams_update", { slug: "held", autonomy_mode: "autonomous" }),
    ])
      expect(mode).to.include("for_persons")
    const template = { title: "Launch", autonomy_mode: "autonomous" }
    expect(await byToken("POST", "/v1/workstream-templates", template)).to.include("for_persons")
    expect(await byMcp("workstream_templates_create", template)).to.include("for_persons")
  })

  it("judge as agents, and do not decide an experiment", async () => {
    const created = { name: "Judged", variants: [{ key: "control" }, { key: "other" }] }
    const { slug } = (await host.api<{ slug: string }>("POST", "/v1/experiments", created)).body
    const feedback = (text: string) => ({ items: [{ experiment_slug: slug, variant_key: "control", feedback: text }] })
    await byToken("POST", "/v1/page-feedback", feedback("By token"))
    await byMcp("page_feedback_record", feedback("By tool"))
    await host.api("POST", "/v1/page-feedback", feedback("By person"))
    const { body } = await host.api<{ observations: { judge_slug: string; reason: string }[] }>(
      "GET",
      `/v1/experiments/${slug}/observations`,
    )
    const judges = Object.fromEntries(body.observations.map(({ judge_slug, reason }) => [reason, judge_slug]))
    expect(judges["By token"]).to.match(/^agent:/)
    expect(judges["By tool"]).to.equal(`agent:${credential}`)
    expect(judges["By person"]).to.match(/^human:/)
    expect(await byToken("POST", `/v1/experiments/${slug}/decide`, { rationale: "Mine." })).to.include("decision_needs_user")
    expect(await byMcp("experiments_decide", { slug, rationale: "Mine." })).to.match(/not found|does not exist|unknown/i)
  })

  it("do not lend a connection", async () => {
    const credentials = { base_url: "https://api.example.com", headers: { Authorization: "Bearer k-12345678" } }
    const connectionInput = (name: string) => ({
      app: "http",
      name,
      credentials,
      share_with_org: true,
      managed_access: "managed_organizations",
    })
    await byToken("POST", "/v1/integrations-connect", connectionInput("By token"))
    await byMcp("integrations_connect", connectionInput("By tool"))
    const { body } = await host.api<{ integrations: { slug: string; managed_access: string }[] }>("GET", "/v1/integrations")
    expect(body.integrations.map(({ slug, managed_access }) => [slug, managed_access])).to.have.deep.members([
      ["by-token", "none"],
      ["by-tool", "none"],
    ])
  })

  it("get closed_to_agents where a person decides", async () => {
    const some = "0190a000-0000-7000-8000-000000000000"
    for (const [method, path, input] of [
      ["PUT", "/v1/autonomy-gates", { gates: [] }],
      ["DELETE", `/v1/suppressions/${some}`, undefined],
      ["POST", "/v1/organizations", { name: "Mine", first_key: true }],
      ["POST", "/v1/member-invitations", { email: "eve@example.com", role: "owner" }],
      ["PATCH", `/v1/members/${some}`, { role: "owner" }],
      ["DELETE", `/v1/members/${some}`, undefined],
      ["POST", "/v1/members-leave", {}],
      ["PUT", `/v1/members/${some}/staff`, { staff: true }],
      ["POST", "/v1/members-recover", { user_id: some }],
      ["POST", `/v1/api-keys/${some}/revoke`, {}],
      ["POST", "/v1/managed-organization-invitations", { role: "admin" }],
      ["DELETE", `/v1/managed-organization-invitations/${some}`, undefined],
      ["POST", "/v1/managed-organizations-accept", { code: "mr_invite_1" }],
      ["POST", "/v1/managed-organizations-adopt", { organization: "other", role: "admin" }],
      ["DELETE", "/v1/managed-organizations/other", undefined],
      ["POST", `/v1/integrations/${some}/hand-over`, {}],
    ] as const) {
      const { status, body } = await host.api<Refusal>(method, path, input, { key: agent })
      expect([status, body.code, body.details?.reason], path).to.deep.equal([403, "permission_denied", "closed_to_agents"])
    }
  })

  it("have no tool for a change of members, keys or managed organizations", async () => {
    const areas = ["api_keys", "managed_organizations", "member_invitations", "members", "organizations", "ownership"]
    const changing = host.runtime.registry
      .items(Operations)
      .filter(({ name, hints }) => areas.includes(name.replace(/\..*/, "")) && !hints.readOnly)
      .map(({ name }) => name)
    expect(changing).to.include.members(["api_keys.revoke", "managed_organizations.end", "members.set_staff", "ownership.offer"])
    for (const name of changing) expect(await byMcp(name.replaceAll(".", "_"), {}), name).to.include("Unknown tool")
  })
})
