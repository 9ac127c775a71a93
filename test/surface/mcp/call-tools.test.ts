// The tools to find, describe and call other operations: the same rules as for an operation's own tool.
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { gatedNotes } from "../../plugins/approvals/gated-notes.ts"
import { callTool, jsonOf, type ToolResult } from "./rpc.ts"

interface Refusal {
  readonly code: string
  readonly message: string
  readonly details: Record<string, unknown>
}

describe("MCP call tools", () => {
  let host: TestHost
  before(async () => {
    host = await testHost({ plugins: [gatedNotes] })
    await host.api("POST", "/v1/datasets", { name: "Leads" })
  })
  after(() => host.stop())

  const as = (key: string, query = "") => ({ url: host.url, key, query })
  const call = (tool: string, name: string, input?: unknown, key = host.adminKey, more: object = {}) =>
    callTool(as(key), tool, { name, ...(input === undefined ? {} : { arguments: input }), ...more })
  const keyOf = async (expected: object) =>
    (await host.api<{ secret: string }>("POST", "/v1/api-keys", { name: "k", ...expected })).body.secret
  const refusalOf = (result: ToolResult) => {
    expect(result.isError).to.equal(true)
    return jsonOf<Refusal>(result)
  }
  const datasets = async () => (await host.api<{ datasets: { slug: string }[] }>("GET", "/v1/datasets?limit=200")).body.datasets

  it("find tools by words, best first, of what the credential may call", async () => {
    const search = async (query: string, key = host.adminKey, more: object = {}) =>
      jsonOf<{ tools: { name: string; summary: string; call_tool: string }[]; total: number }>(
        await callTool(as(key), "search_tools", { query, ...more }),
      )
    expect((await search("replay a failed execution")).tools[0]).to.include({ name: "event_pipelines_replay_execution" })
    expect((await search("rows of datasets")).tools.map(({ name }) => name)).to.include("datasets_list_rows")
    const narrow = await keyOf({ kind: "token", role: "member", scopes: ["mcp", "datasets:read"] })
    expect((await search("create datasets pipelines", narrow)).tools.map(({ name }) => name))
      .to.include("datasets_list")
      .and.not.include("datasets_create")
    const few = await search("list", host.adminKey, { limit: 3 })
    expect(few.tools).to.have.length(3)
    expect(few.total).to.be.greaterThan(20)
    expect((await search("qqqq zzzz")).tools).to.deep.equal([])
    expect(refusalOf(await callTool(as(host.adminKey), "search_tools", { query: "" })).code).to.equal("invalid_argument")
  })

  it("describe a tool with schemas, examples, scope and role", async () => {
    const described = jsonOf(await callTool(as(host.adminKey), "describe_tool", { name: "datasets.list_rows" }))
    expect(described).to.include({ name: "datasets_list_rows", call_tool: "call_read", scope: "datasets:read", role: "member" })
    expect(described).to.have.nested.property("input_schema.properties.slug")
    expect(described).to.have.nested.property("output_schema.properties.rows")
    expect(described["examples"]).to.be.an("array").with.length.greaterThan(0)
    for (const name of ["autonomy_gates_set", "workstreams_set_external_refs", "datasets_export", "nothing"])
      expect(refusalOf(await callTool(as(host.adminKey), "describe_tool", { name })).details["reason"], name).to.equal("unknown_tool")
  })

  it("read what REST reads, with arguments as an object or as JSON text", async () => {
    const others = (await host.api("GET", "/v1/datasets/leads")).body
    expect(jsonOf(await call("call_read", "datasets_get", { slug: "leads" }))).to.deep.equal(others)
    expect(jsonOf(await call("call_read", "datasets.get", '{"slug":"leads"}'))).to.deep.equal(others)
    expect(jsonOf(await call("call_read", "me_get"))).to.have.property("organization")
    expect(refusalOf(await call("call_read", "datasets_get", "no JSON")).code).to.equal("invalid_argument")
    expect(refusalOf(await call("call_read", "datasets_get", [])).code).to.equal("invalid_argument")
  })

  it("refuse a tool of another kind before it runs", async () => {
    for (const [tool, name, right] of [
      ["call_read", "datasets_create", "call_write"],
      ["call_write", "datasets_update", "call_destructive"],
      ["call_destructive", "datasets_list", "call_read"],
    ] as const) {
      const refusal = refusalOf(await call(tool, name, { name: "Sneaked", slug: "leads" }))
      expect(refusal.details, name).to.include({ reason: "wrong_call_tool", call_tool: right })
      expect(refusal.message).to.contain(right)
    }
    expect((await datasets()).map(({ slug }) => slug)).to.deep.equal(["leads"])
  })

  it("reach no operation that MCP does not offer, and no call tool", async () => {
    for (const name of [
      "approvals_decide",
      "autonomy_gates_set",
      "workstreams_set_external_refs",
      "suppressions_remove",
      "call_write",
      "__proto__",
    ])
      expect(refusalOf(await call("call_destructive", name, {})).details["reason"], name).to.equal("unknown_tool")
  })

  it("refuse by scope and role as REST does", async () => {
    const guest = await keyOf({ role: "guest" })
    const narrow = await keyOf({ kind: "token", role: "admin", scopes: ["mcp", "knowledge:read"] })
    for (const key of [guest, narrow]) {
      const response = await host.api<Refusal>("POST", "/v1/datasets", { name: "Refused" }, { key })
      // Without a call tool on its list, a credential still gets the refusal of the operation.
      expect(refusalOf(await call("call_write", "datasets_create", { name: "Refused" }, key))).to.deep.equal(response.body)
      expect(refusalOf(await callTool(as(key), "datasets_create", { name: "Refused" }))).to.deep.equal(response.body)
      expect(refusalOf(await callTool(as(key, "?tools=all"), "datasets_create", { name: "Refused" }))).to.deep.equal(response.body)
    }
    const member = await keyOf({ role: "member" })
    const answer = await host.api<Refusal>(
      "POST",
      "/v1/integrations-connect",
      { app: "http", credentials: {}, share_with_org: true },
      { key: member },
    )
    const called = await call("call_destructive", "integrations_connect", { app: "http", credentials: {}, share_with_org: true }, member)
    expect([refusalOf(called).code, refusalOf(called).details["reason"]]).to.deep.equal([answer.body.code, answer.body.details["reason"]])
    expect((await datasets()).map(({ slug }) => slug)).to.deep.equal(["leads"])
  })

  it("change nothing for a repeat with the same idempotency key, and refuse another call under the key", async () => {
    const write = (input: object, idempotency_key: string) =>
      call("call_write", "datasets_create", input, host.adminKey, { idempotency_key })
    const first = jsonOf(await write({ name: "Once" }, "mcp-1"))
    expect(jsonOf(await write({ name: "Once" }, "mcp-1"))).to.deep.equal(first)
    expect(refusalOf(await write({ name: "Other" }, "mcp-1")).details["reason"]).to.equal("idempotency_key_reused")
    expect(jsonOf(await write({ name: "Once" }, "mcp-2"))).to.not.deep.equal(first)
    expect(refusalOf(await write({ name: "Spaced" }, "not a key \u0000")).code).to.equal("invalid_argument")
    expect((await datasets()).map(({ slug }) => slug).sort()).to.deep.equal(["leads", "once", "once-2"])
  })

  it("file a gated call for approval, once for a repeat", async () => {
    const gated = () => call("call_write", "gated_notes_write", { text: "Held" }, host.adminKey, { idempotency_key: "gate-1" })
    const first = jsonOf(await gated())
    expect(first["status"]).to.equal("pending_approval")
    expect(jsonOf(await gated())).to.deep.equal(first)
    const { body } = await host.api<{ approvals: { requester: { surface: string }; state: string }[] }>("GET", "/v1/approvals")
    expect(body.approvals.map(({ state }) => state)).to.deep.equal(["pending"])
  })

  it("clear what MCP cannot set, and stand in the audit log as the operation over MCP", async () => {
    const input = {
      app: "http",
      credentials: { base_url: "https://api.crm.test", headers: {} },
      managed_access: "read",
      share_with_org: true,
    }
    await call("call_destructive", "integrations_connect", input)
    const { body } = await host.api<{ audit_log: { actor: { surface: string }; writes: { after: { managed_access: string } }[] }[] }>(
      "GET",
      "/v1/audit-log?operation=integrations.connect&limit=1",
    )
    expect(body.audit_log[0]?.actor.surface).to.equal("mcp")
    expect(body.audit_log[0]?.writes[0]?.after.managed_access).to.equal("none")
  })
})
