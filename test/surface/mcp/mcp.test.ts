// MCP through the official client, in both revisions: the same operations, walls and refusals as on other surfaces.

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { InMemoryTransport } from "@modelcontextprotocol/server"
import { expect } from "chai"
import { UnitsOfWork } from "#core"
import type { Role } from "#core/engine"
import { type TestHost, testHost } from "#core/testing"
import { Operations } from "../../../core/contract/operation.ts"
import { mcpServer } from "../../../core/surface/mcp/server.ts"
import { ApiKeys, Organizations } from "../../../plugins/platform/organizations/index.ts"
import { openSurfaceBench } from "../surface-bench.ts"
import { lazyValidator } from "./lazy-validator.ts"
import { sessionOver } from "./session.ts"

type Revision = "2025-11-25" | "2026-07-28"
const modes = { "2025-11-25": "legacy", "2026-07-28": "auto" } as const

describe("MCP", () => {
  let host: TestHost
  const open: Client[] = []
  before(async () => {
    host = await testHost()
    await host.api("POST", "/v1/datasets", { name: "Leads" })
    const pipeline = {
      name: "Website lead",
      state: "active",
      source_kind: "internal",
      auth_mode: "none",
      pipeline: [{ type: "dataset.write", dataset_slug: "leads" }],
    }
    await host.api("POST", "/v1/event-pipelines", pipeline)
    await host.api("POST", "/v1/event-pipelines/website-lead/events", { payload: { email: "ada@example.com" } })
  })
  after(async () => {
    for (const client of open) await client.close()
    await host.stop()
  })

  const mint = (role: Role, scopes?: string[], organization = host.organization.id) =>
    host
      .get(UnitsOfWork)
      .run(
        (work) =>
          host
            .get(ApiKeys)
            .mint(work, organization, { name: "t", kind: scopes ? "token" : "api_key", role, scopes: scopes ?? null, user: null }).text,
      )
  const connect = async (key = host.adminKey, revision: Revision = "2026-07-28", headers: Record<string, string> = {}, query = "") => {
    const client = new Client(
      { name: "test", version: "1" },
      { versionNegotiation: { mode: modes[revision] }, jsonSchemaValidator: lazyValidator },
    )
    const requestInit = { headers: { authorization: `Bearer ${key}`, ...headers } }
    await client.connect(new StreamableHTTPClientTransport(new URL(`${host.url}/mcp${query}`), { requestInit }))
    open.push(client)
    expect(client.getNegotiatedProtocolVersion()).to.equal(revision)
    return client
  }
  /** All pages of all tools available to the credential. */
  const allTools = async (revision: Revision = "2026-07-28") => (await connect(host.adminKey, revision, {}, "?tools=all")).listTools()
  const bodyOf = (result: Awaited<ReturnType<Client["callTool"]>>) => {
    const [content] = result.content
    return JSON.parse(content?.type === "text" ? content.text : "null") as Record<string, unknown>
  }
  const refusal = (result: Awaited<ReturnType<Client["callTool"]>>) => {
    expect(result.isError).to.equal(true)
    expect(result.structuredContent).to.equal(undefined)
    const [content] = result.content
    return JSON.parse(content?.type === "text" ? content.text : "{}") as { code: string; message: string; details: Record<string, unknown> }
  }
  const post = (body: unknown, headers: Record<string, string> = {}, url = host.url) =>
    fetch(`${url}/mcp`, {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        authorization: `Bearer ${host.adminKey}`,
        ...headers,
      },
      body: typeof body === "string" ? body : JSON.stringify(body),
    })

  for (const revision of ["2025-11-25", "2026-07-28"] as const) {
    it(`offers the operations as tools in ${revision}, with input schema and all four hints`, async () => {
      const { tools } = await allTools(revision)
      const operations = host.runtime.registry
        .items(Operations)
        .filter(({ streams, mcp, access }) => !streams && !(mcp && "absent" in mcp) && !access.staff)
      expect(tools.map(({ name }) => name)).to.have.members(operations.map(({ name }) => name.replaceAll(".", "_")))
      expect(tools.map(({ name }) => name)).not.to.include("datasets_export")
      for (const { name, inputSchema, outputSchema, annotations, description } of tools) {
        const { hints, summary } = operations.find((operation) => operation.name.replaceAll(".", "_") === name) ?? expect.fail(name)
        expect(annotations).to.deep.include({
          readOnlyHint: hints.readOnly,
          destructiveHint: hints.destructive,
          idempotentHint: hints.idempotent,
          openWorldHint: Boolean(hints.openWorld),
        })
        expect([inputSchema.type, outputSchema], name).to.deep.equal(["object", undefined])
        expect(description).to.contain(summary)
      }
    })

    it(`answers JSON as text once, and a note that it is data, in ${revision}`, async () => {
      const client = await connect(host.adminKey, revision)
      await client.listTools()
      const result = await client.callTool({ name: "event_pipelines_get", arguments: { slug: "website-lead" } })
      const response = await host.api("GET", "/v1/event-pipelines/website-lead")
      expect(result.structuredContent).to.equal(undefined)
      expect(result.content[0]).to.deep.equal({ type: "text", text: JSON.stringify(response.body) })
      expect(JSON.stringify(result.content.slice(1))).to.contain("is data")
    })

    it(`answers refusals as tool errors with code, message and details in ${revision}`, async () => {
      const client = await connect(host.adminKey, revision)
      expect(refusal(await client.callTool({ name: "datasets_get", arguments: { slug: "nowhere" } })).code).to.equal("not_found")
      const invalid = refusal(await client.callTool({ name: "datasets_create", arguments: { nme: "x" } }))
      expect(invalid).to.deep.include({ code: "invalid_argument" })
      expect((invalid.details["fields"] as { path: string }[]).map(({ path }) => path)).to.have.members(["name", "nme"])
      const unknown = await client.callTool({ name: "nothing", arguments: {} }).catch((error: { code: number }) => error)
      expect(unknown).to.include({ code: -32_602 })
    })

    it(`reads pipelines, their journal and the action types as resources in ${revision}`, async () => {
      const client = await connect(host.adminKey, revision)
      const { resources } = await client.listResources()
      expect(resources.map(({ uri }) => uri)).to.include.members([
        "millrace://action-types",
        "millrace://event-pipelines",
        "millrace://event-pipelines/website-lead",
      ])
      const { resourceTemplates } = await client.listResourceTemplates()
      const templates = resourceTemplates.map(({ uriTemplate }) => uriTemplate)
      expect(templates).to.include.members(["millrace://event-pipelines/{slug}", "millrace://event-pipelines/{slug}/executions/{id}"])
      const read = async (uri: string) => {
        const [content] = (await client.readResource({ uri })).contents
        return JSON.parse(content && "text" in content ? content.text : "null") as Record<string, { id: string }[]>
      }
      expect(await read("millrace://event-pipelines/website-lead")).to.include({ name: "Website lead" })
      const executions = (await read("millrace://event-pipelines/website-lead/executions"))["executions"] ?? []
      expect(executions).to.have.lengthOf(1)
      expect(await read(`millrace://event-pipelines/website-lead/executions/${executions[0]?.id}`)).to.include({ status: "accepted" })
      const complete = {
        ref: { type: "ref/resource" as const, uri: "millrace://event-pipelines/{slug}/executions" },
        argument: { name: "slug", value: "web" },
      }
      expect((await client.complete(complete)).completion.values).to.deep.equal(["website-lead"])
      const missing = await client.readResource({ uri: "millrace://event-pipelines/none" }).catch((error: { code: number }) => error)
      expect(missing).to.include({ code: -32_602 })
    })
  }

  it("calls additive only what never overwrites or removes what was there", async () => {
    const { tools } = await allTools()
    const additive = tools.filter(({ annotations }) => !annotations?.readOnlyHint && !annotations?.destructiveHint)
    const names = additive.map(({ name }) => name)
    expect(names).to.include.members(["datasets_create", "event_pipelines_create", "pages_create"])
    expect(names).to.not.include.oneOf(["datasets_insert_rows", "event_pipelines_send_event", "event_pipelines_rotate_secret"])
    const replacing = host.runtime.registry.items(Operations).filter(({ http }) => ["PUT", "PATCH", "DELETE"].includes(http.method))
    expect(replacing.length).to.be.greaterThan(3)
    expect(replacing.map(({ name }) => name.replaceAll(".", "_")).filter((name) => names.includes(name))).to.deep.equal([])
  })

  it("refuses what nests too deep as REST does, at the same level", async () => {
    const insert = async (levels: number) => {
      const input = `"rows":[{"a":${"[".repeat(levels)}${"]".repeat(levels)}}]`
      const params = `{"name":"datasets_insert_rows","arguments":{"slug":"leads",${input}}}`
      const answer = await (await post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`)).text()
      const message = JSON.parse(/^data: (.*)$/m.exec(answer)?.[1] ?? answer) as { result: Awaited<ReturnType<Client["callTool"]>> }
      const headers = { authorization: `Bearer ${host.adminKey}`, "content-type": "application/json" }
      const response = await fetch(`${host.url}/v1/datasets/leads/rows`, { method: "POST", headers, body: `{${input}}` })
      return { said: message, result: message.result, rest: { status: response.status, body: await response.json() } }
    }
    for (const levels of [98, 5_000]) {
      const { result, rest: response } = await insert(levels)
      expect(response, `${levels} levels`).to.have.property("status", 400)
      expect(refusal(result), `${levels} levels`).to.deep.include({
        code: "invalid_argument",
        details: { reason: "body_too_deep", limit: 100 },
      })
      expect(refusal(result)).to.deep.equal(response.body)
    }
    // A message too large to parse is refused before it is known to be a call.
    const unparsed = await insert(500_000)
    expect(unparsed.said).to.deep.equal(unparsed.rest.body)
    expect(unparsed.rest.body).to.deep.include({ code: "invalid_argument", details: { reason: "body_too_deep", limit: 100 } })
    const { result, rest: others } = await insert(97)
    expect([result.isError, others.status]).to.deep.equal([undefined, 200])
  })

  it("holds walls and roles for resources as for calls", async () => {
    const neighbours = await host.get(UnitsOfWork).run((work) => host.get(Organizations).create(work, { name: "Neighbours" }))
    const stranger = await connect(await mint("owner", undefined, neighbours.id))
    expect((await stranger.listResources()).resources.map(({ uri }) => uri)).not.to.include("millrace://event-pipelines/website-lead")
    expect(
      await stranger.readResource({ uri: "millrace://event-pipelines/website-lead" }).catch((error: { code: number }) => error),
    ).to.include({ code: -32_602 })
    const narrow = await connect(await mint("owner", ["mcp"]))
    expect((await narrow.listResources()).resources).to.deep.equal([])
    expect((await narrow.listResourceTemplates()).resourceTemplates).to.deep.equal([])
    const refused = await narrow.readResource({ uri: "millrace://event-pipelines" }).catch((error: { data: unknown }) => error)
    expect(refused).to.have.nested.property("data.code", "permission_denied")
  })

  it("completes from all that a list holds, and says where there is more than an answer does", async () => {
    const many = await host.get(UnitsOfWork).run((work) => host.get(Organizations).create(work, { name: "Many" }))
    const key = await mint("owner", undefined, many.id)
    const apply = (slugs: string[]) =>
      host.invoke(
        "event_pipelines.apply",
        {
          documents: slugs.map((slug) => ({ path: `${slug}.yaml`, document: { name: slug, slug, source_kind: "internal", pipeline: [] } })),
        },
        { key },
      )
    await apply(["first", ...Array.from({ length: 100 }, (_, n) => `early-${n}`)])
    await apply(Array.from({ length: 301 }, (_, n) => `late-${n}`))
    const client = await connect(key)
    const complete = async (value: string) => {
      const ref = { type: "ref/resource" as const, uri: "millrace://event-pipelines/{slug}" }
      return (await client.complete({ ref, argument: { name: "slug", value } })).completion
    }
    expect(await complete("first")).to.deep.equal({ values: ["first"], total: 1, hasMore: false })
    expect(await complete("none")).to.deep.equal({ values: [], total: 0, hasMore: false })
    const early = await complete("early-")
    expect(early).to.include({ total: 100, hasMore: false }).and.have.property("values").with.lengthOf(100)
    const late = await complete("late-")
    expect(late).to.include({ hasMore: true }).and.have.property("values").with.lengthOf(100)
    expect(late).not.to.have.property("total")
  })

  it("acts in the organization that X-Organization-ID selects, and nowhere out of reach", async () => {
    const chosen = await connect(host.adminKey, "2026-07-28", { "x-organization-id": host.organization.slug })
    expect(bodyOf(await chosen.callTool({ name: "me_get", arguments: {} }))).to.have.nested.property("organization.slug", "default")
    const answer = await post({ jsonrpc: "2.0", id: 1, method: "tools/list" }, { "x-organization-id": "neighbours" })
    expect([answer.status, ((await answer.json()) as { code: string }).code]).to.deep.equal([404, "not_found"])
  })

  it("clears what callers over MCP cannot set, and does not offer it", async () => {
    const { tools } = await (await connect()).listTools()
    const connectTool = tools.find(({ name }) => name === "integrations_connect")
    expect(connectTool?.inputSchema.properties).to.include.keys("app", "credentials").and.not.include.keys("managed_access")
  })

  it("lets nobody in without a key, without the scope mcp, or from a foreign page", async () => {
    const body = { jsonrpc: "2.0", id: 1, method: "tools/list" }
    const anonymous = await post(body, { authorization: "" })
    expect([anonymous.status, anonymous.headers.get("www-authenticate")]).to.deep.equal([401, 'Bearer realm="millrace"'])
    const narrow = await post(body, { authorization: `Bearer ${await mint("owner", ["datasets:read"])}` })
    expect(narrow.status).to.equal(403)
    expect(narrow.headers.get("www-authenticate")).to.contain('error="insufficient_scope", scope="mcp"')
    expect((await post(body, { origin: "https://evil.test" })).status).to.equal(403)
    expect((await post(body, { origin: host.url })).status).to.equal(200)
    const read = await fetch(`${host.url}/mcp`, { headers: { authorization: `Bearer ${host.adminKey}` } })
    expect([read.status, read.headers.get("allow")]).to.deep.equal([405, "POST, OPTIONS"])
    expect((await post("x".repeat(1_200_000))).status).to.equal(413)
  })

  it("counts every message of a batch against the limits", async () => {
    const bench = await openSurfaceBench({ rateLimits: { key_per_minute: 6, organization_per_minute: 1_000 } })
    bench.clock.stand()
    try {
      const call = (id: number) => ({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "notes_list", arguments: {} } })
      const body = Array.from({ length: 10 }, (_, id) => call(id))
      const text = await (await post(body, { authorization: "Bearer a-member", "mcp-protocol-version": "2025-03-26" }, bench.url)).text()
      expect(text.match(/is data/g)).to.have.lengthOf(6)
      expect(text.match(/resource_exhausted/g)).to.have.lengthOf.at.least(3)
      const after = await post({ jsonrpc: "2.0", id: 1, method: "tools/list" }, { authorization: "Bearer a-member" }, bench.url)
      expect([after.status, after.headers.get("retry-after")]).to.deep.equal([429, "10"])
    } finally {
      await bench.close()
    }
  })

  it("keeps calls in the audit as made over MCP", async () => {
    await (await connect()).callTool({ name: "datasets_create", arguments: { name: "Over MCP" } })
    const { body } = await host.api<{ audit_log: { actor: { surface: string } }[] }>(
      "GET",
      "/v1/audit-log?operation=datasets.create&limit=1",
    )
    expect(body.audit_log[0]?.actor.surface).to.equal("mcp")
  })

  it("is the same server over any transport, for a session that says who calls", async () => {
    const server = mcpServer(
      sessionOver(host.runtime.registry.items(Operations), async (operation, input) => ({ called: operation.name, input: input as never })),
    )
    const [near, far] = InMemoryTransport.createLinkedPair()
    const client = new Client({ name: "test", version: "1" }, { jsonSchemaValidator: lazyValidator })
    await Promise.all([server.connect(far), client.connect(near)])
    const result = await client.callTool({ name: "datasets_list", arguments: { limit: 1 } })
    expect(bodyOf(result)).to.deep.equal({ called: "datasets.list", input: { limit: 1 } })
    await client.close()
  })
})
