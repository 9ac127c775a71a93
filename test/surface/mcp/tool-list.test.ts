// The list of tools: the selection by credential and URL, its size, and its acceptance by models.
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { Operations } from "../../../core/contract/operation.ts"
import { portableKeywords } from "../../../core/surface/mcp/portable-schema.ts"
import { callTool, jsonOf, type ListedTool, post, rpc, toolsOf } from "./rpc.ts"

/** Operations of the specification with a tool; excludes a read for staff (docs/adr/0025). */
const specified = [
  "chatapp_conversations_list",
  "datasets_list",
  "evals_update_suite",
  "event_pipelines_create",
  "event_pipelines_get",
  "event_pipelines_list",
  "event_pipelines_list_executions",
  "event_pipelines_rotate_secret",
  "event_pipelines_update",
  "experiments_run_tournament",
  "experiments_start_panel",
  "heartbeats_list",
  "integrations_connect",
  "knowledge_search",
  "managed_organizations_list",
  "page_analytics_query",
  "page_feedback_record",
  "screenshots_result",
  "sending_domains_update",
  "voice_provision_caller_name",
]
const calling = ["search_tools", "describe_tool", "call_read", "call_write", "call_destructive"]

describe("the list of MCP tools", () => {
  let host: TestHost
  before(async () => {
    host = await testHost()
  })
  after(() => host.stop())

  const keyOf = async (expected: object) =>
    (await host.api<{ secret: string }>("POST", "/v1/api-keys", { name: "k", ...expected })).body.secret
  const as = (key: string, query = "") => ({ url: host.url, key, query })
  const admin = (query = "") => as(host.adminKey, query)
  const namesOf = async (options: ReturnType<typeof as>) => (await toolsOf(options)).map(({ name }) => name)
  const tokensOf = (tools: readonly ListedTool[]) => Math.ceil(JSON.stringify(tools).length / 4)
  const operationOf = (name: string) => host.runtime.registry.items(Operations).find((item) => item.name.replaceAll(".", "_") === name)

  it("has the operations of the specification and the call tools, at most 25 tools and 10,000 tokens", async () => {
    const tools = await toolsOf(admin())
    expect(tools.map(({ name }) => name)).to.have.members([...specified, ...calling])
    expect(tools).to.have.length.within(1, 25)
    expect(tokensOf(tools)).to.be.within(1, 10_000)
  })

  it("gives each tool a title, honest hints and an example that the operation accepts", async () => {
    for (const { name, description, annotations } of [...(await toolsOf(admin())), ...(await toolsOf(admin("?tools=all")))]) {
      expect(name).to.match(/^[a-z][a-z0-9_]{2,63}$/)
      expect(annotations, name).to.include.keys("title", "readOnlyHint", "destructiveHint")
      const example = JSON.parse(/.* Example: (.*)$/s.exec(description)?.[1] ?? "null") as { name: string; arguments: object } | null
      expect(example, name).to.be.an("object")
      const isCall = name.startsWith("call_")
      const operation = operationOf(isCall ? String(example?.name) : name)
      if (!operation) continue
      const { success } = operation.input.safeParse(isCall ? example?.arguments : example)
      expect(success, `${name}: ${JSON.stringify(example)}`).to.equal(true)
    }
  })

  it("uses schema keywords that Anthropic, OpenAI and Gemini accept, in each listed and described tool", async () => {
    const listedTools = [...(await toolsOf(admin())), ...(await toolsOf(admin("?tools=all")))]
    const problems = listedTools.flatMap(({ name, inputSchema }) => problemsOf(inputSchema, name))
    expect(problems).to.deep.equal([])
    for (const name of ["integration_apps_create", "heartbeats_update", "experiments_create", "event_pipelines_create"]) {
      const described = jsonOf<{ input_schema: object; output_schema: object }>(await callTool(admin(), "describe_tool", { name }))
      expect(problemsOf(described.input_schema, name)).to.deep.equal([])
      expect(problemsOf(described.output_schema, name)).to.deep.equal([])
    }
    expect(listedTools.filter(({ inputSchema }) => inputSchema["type"] !== "object" || "anyOf" in inputSchema)).to.deep.equal([])
  })

  it("has only tools that the credential may call", async () => {
    const reader = as(await keyOf({ kind: "token", role: "member", scopes: ["mcp", "datasets:read"] }))
    expect(await namesOf(reader)).to.have.members(["search_tools", "describe_tool", "call_read", "datasets_list"])
    // Each credential may read about itself.
    const bare = await namesOf(as(await keyOf({ kind: "token", role: "admin", scopes: ["mcp"] }), "?tools=all"))
    expect(bare).to.deep.equal(["me_get"])
    const guest = await namesOf(as(await keyOf({ role: "guest" })))
    expect(guest).to.include.members(["datasets_list", "call_read"])
    for (const name of guest) if (!calling.includes(name)) expect(operationOf(name)?.access.role, name).to.equal("guest")
    const all = await namesOf({ ...reader, query: "?tools=all" })
    expect(all.map((name) => operationOf(name)?.access.scope)).to.deep.equal(
      all.map((name) => (name === "me_get" ? "me:read" : "datasets:read")),
    )
    expect(all).to.not.include("evals_widget_canary")
  })

  it("is narrowed by toolsets in the URL, which also bound the calls", async () => {
    const names = await namesOf(admin("?tools=pipelines,datasets"))
    expect(
      new Set(
        names.map((name) =>
          name.replace(
            /_(?:[a-z]+|end_secret|list_secrets|rotate_secret|send_event|patch_drift|get_execution|get_payload|list_executions|replay_execution|retry_execution|delete_row|insert_rows|list_rows)$/,
            "",
          ),
        ),
      ),
    ).to.deep.equal(new Set(["datasets", "event_pipelines"]))
    const conversations = await namesOf(admin("?tools=conversations"))
    expect(conversations).to.include.members(["conversations_send", "text_conversations_list", "email_conversations_get"])
    expect(await namesOf(admin("?tools=me_get&tools=datasets_list"))).to.have.members(["me_get", "datasets_list"])
    expect(await namesOf(admin("?tools=search"))).to.have.members(calling)
    expect(await namesOf(admin("?tools=default,me"))).to.have.members([...specified, ...calling, "me_get"])
    const { error } = await rpc(admin("?tools=datasets"), "tools/call", { name: "me_get", arguments: {} })
    expect(error?.code).to.equal(-32_602)
    expect((await rpc(admin("?tools=datasets"), "tools/call", { name: "call_read", arguments: { name: "me_get" } })).error?.code).to.equal(
      -32_602,
    )
  })

  it("reads only if the URL says so", async () => {
    const tools = await toolsOf(admin("?read_only=true"))
    expect(tools.map(({ name }) => name))
      .to.include.members(["call_read", "datasets_list"])
      .and.not.include("call_write")
    expect(tools.filter(({ annotations }) => annotations["readOnlyHint"] !== true)).to.deep.equal([])
    const all = await toolsOf(admin("?tools=all&read_only=true"))
    expect(all.filter(({ annotations }) => annotations["readOnlyHint"] !== true)).to.deep.equal([])
    for (const [name, input] of [
      ["datasets_create", { name: "Refused" }],
      ["call_write", { name: "datasets_create", arguments: { name: "Refused" } }],
      ["call_destructive", { name: "datasets_update", arguments: { slug: "refused", name: "x" } }],
    ] as const) {
      expect((await rpc(admin("?read_only=true"), "tools/call", { name, arguments: input })).error?.code, name).to.equal(-32_602)
    }
    expect(jsonOf(await callTool(admin("?read_only=true"), "call_read", { name: "datasets_create" }))).to.have.nested.property(
      "details.reason",
      "unknown_tool",
    )
    expect((await host.api<{ total: number }>("GET", "/v1/datasets")).body.total).to.equal(0)
  })

  it("refuses a URL with an unknown toolset, parameter or value, and names the remedy", async () => {
    for (const [query, word] of [
      ["?tools=nothing", "event_pipelines"],
      ["?toolsets=datasets", '"tools"'],
      ["?read_only=yes", '"true"'],
    ]) {
      const { status, text } = await rpc(admin(query), "tools/list")
      expect([status, JSON.parse(text).code], query).to.deep.equal([400, "invalid_argument"])
      expect(JSON.parse(text).message, query).to.contain(word)
    }
  })

  it("comes in pages of at most 20,000 tokens", async () => {
    const sizes: number[] = []
    let cursor: string | undefined
    do {
      const { result } = await rpc(admin("?tools=all"), "tools/list", cursor === undefined ? {} : { cursor })
      const page = result as unknown as { tools: ListedTool[]; nextCursor?: string }
      sizes.push(tokensOf(page.tools))
      cursor = page.nextCursor
    } while (cursor !== undefined)
    expect(sizes).to.have.length.greaterThan(1)
    expect(Math.max(...sizes)).to.be.at.most(20_000)
    expect((await rpc(admin(), "tools/list", { cursor: "page-1" })).error?.code).to.equal(-32_602)
    expect((await rpc(admin(), "tools/list", { cursor: "x" })).error?.code).to.equal(-32_602)
  })

  it("is answered as JSON or as events, as the client accepts", async () => {
    const typeFor = async (accept: Record<string, string>) => {
      const { status, headers, result } = await rpc({ ...admin(), headers: accept }, "tools/list")
      expect(result?.["tools"], JSON.stringify(accept)).to.have.length(25)
      return [status, headers.get("content-type")]
    }
    expect(await typeFor({ accept: "*/*" })).to.deep.equal([200, "application/json"])
    expect(await typeFor({ accept: "application/json" })).to.deep.equal([200, "application/json"])
    expect(await typeFor({ accept: "text/event-stream" })).to.deep.equal([200, "text/event-stream"])
    expect(await typeFor({ accept: "application/json, text/event-stream" })).to.deep.equal([200, "text/event-stream"])
    expect(
      (await post({ ...admin(), headers: { accept: "*/*" } }, { jsonrpc: "2.0", method: "notifications/initialized" })).status,
    ).to.equal(202)
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": { name: "t", version: "1" },
      "io.modelcontextprotocol/clientCapabilities": {},
    }
    const headers = { accept: "*/*", "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list" }
    const { status, result } = await rpc({ ...admin(), headers }, "tools/list", { _meta })
    expect(result).to.have.property("tools").with.length(25)
    expect(status).to.equal(200)
  })
})

/** Returns places of a schema refused by one of the three vendors. */
function problemsOf(schema: object, path: string): string[] {
  const { properties = {}, items, anyOf = [], type, enum: values, required = [], description } = schema as Record<string, never>
  const unknown = Object.keys(schema).filter((key) => !(portableKeywords as readonly string[]).includes(key))
  const alternatives = anyOf as object[]
  const isTyped = alternatives.length > 0 ? type === undefined && description === undefined : typeof type === "string"
  return [
    ...unknown.map((key) => `${path}: ${key}`),
    ...(isTyped ? [] : [`${path}: no type of its own`]),
    ...((values as unknown[] | undefined)?.some((value) => typeof value !== "string" || value === "") ? [`${path}: enum`] : []),
    ...(type === "array" && items === undefined ? [`${path}: no items`] : []),
    ...(required as string[]).filter((name) => !(name in (properties as object))).map((name) => `${path}: requires ${name}`),
    ...Object.keys(properties)
      .filter((name) => !/^[a-zA-Z0-9_.-]{1,64}$/.test(name))
      .map((name) => `${path}: ${name}`),
    ...Object.entries(properties).flatMap(([name, inner]) => problemsOf(inner as object, `${path}.${name}`)),
    ...(items === undefined ? [] : problemsOf(items as object, `${path}[]`)),
    ...alternatives.flatMap((inner, index) => problemsOf(inner, `${path}|${index}`)),
  ]
}
