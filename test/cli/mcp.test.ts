// `millrace mcp` with the official client over standard input and output: the service's own tools, with the rights of the
// profile's key. The audit log records calls over MCP.
import { spawn } from "node:child_process"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { Client } from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { projectRoot } from "../import-graph.ts"
import { finished } from "../processes.ts"
import { lazyValidator } from "../surface/mcp/lazy-validator.ts"
import { runMillrace } from "./command-line.ts"

const command = join(projectRoot, "core/millrace.js")
const modes = { "2025-11-25": "legacy", "2026-07-28": "auto" } as const
type Revision = keyof typeof modes

describe("millrace mcp", () => {
  let host: TestHost
  const open: Client[] = []
  before(async () => {
    host = await testHost()
  })
  afterEach(async () => {
    for (const client of open.splice(0)) await client.close()
  })
  after(() => host.stop())

  const keyOf = async (expected: Record<string, unknown>) =>
    (await host.api<{ secret: string }>("POST", "/v1/api-keys", { name: "Key", ...expected })).body.secret
  const environment = (key: string) => ({ PATH: process.env["PATH"] ?? "", HOME: host.dataDir, MILLRACE_URL: host.url, MILLRACE_KEY: key })
  const connect = async (key: string, revision: Revision = "2026-07-28") => {
    const client = new Client(
      { name: "test", version: "1" },
      { versionNegotiation: { mode: modes[revision] }, jsonSchemaValidator: lazyValidator },
    )
    open.push(client)
    await client.connect(
      new StdioClientTransport({ command: process.execPath, args: [command, "mcp"], env: environment(key), stderr: "ignore" }),
    )
    expect(client.getNegotiatedProtocolVersion()).to.equal(revision)
    return client
  }
  /** Sends lines and returns lines until the command ends by itself. */
  const replies = async (lines: readonly unknown[], env: Record<string, string> = environment(host.adminKey)) => {
    const stdin = lines.map((line) => `${typeof line === "string" ? line : JSON.stringify(line)}\n`).join("")
    const { code, out } = await runMillrace(["mcp"], { env, stdin })
    return {
      code,
      answers: out
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as Record<string, never>),
    }
  }

  for (const revision of ["2025-11-25", "2026-07-28"] as const) {
    it(`offers the service's tools and resources in ${revision}, and calls them with the key`, async () => {
      const client = await connect(await keyOf({ role: "guest" }), revision)
      const { tools } = await client.listTools()
      expect(tools.map(({ name }) => name)).to.include.members(["datasets_list", "search_tools", "call_read"])
      expect(tools.map(({ name }) => name)).to.not.include.oneOf(["datasets_export", "event_pipelines_create", "call_write"])
      const page = await client.callTool({ name: "datasets_list", arguments: {} })
      expect(JSON.stringify(page.content)).to.include('\\"total\\":0')
      const refused = await client.callTool({ name: "datasets_create", arguments: { name: "Guest's" } })
      expect(refused.isError).to.equal(true)
      expect(JSON.stringify(refused.content)).to.include("permission_denied")
      expect((await client.listResources()).resources.map(({ uri }) => uri)).to.include("millrace://action-types")
      expect((await client.readResource({ uri: "millrace://auth-modes" })).contents).to.have.length(1)
      expect((await host.api<{ total: number }>("GET", "/v1/datasets")).body.total).to.equal(0)
    })
  }

  it("is MCP to the service: it needs the scope, is told apart in the audit log, and what MCP may not set is cleared", async () => {
    const narrow = await replies(
      [{ jsonrpc: "2.0", id: 1, method: "tools/list" }],
      environment(await keyOf({ kind: "token", scopes: ["datasets:read"] })),
    )
    expect(narrow.answers).to.have.length(1)
    expect(narrow.answers[0]).to.deep.include({ id: 1 }).and.have.nested.property("error.data.code", "permission_denied")
    expect(JSON.stringify(narrow.answers)).to.include('needed_scope":"mcp"')

    const credentials = { base_url: "https://api.crm.test", headers: {} }
    const params = { name: "integrations_connect", arguments: { app: "http", credentials, managed_access: "read" } }
    const [created] = (await replies([{ jsonrpc: "2.0", id: 1, method: "tools/call", params }])).answers
    expect(JSON.stringify(created)).to.include('\\"status\\":\\"connected\\"')
    const { body } = await host.api<{ audit_log: { actor: unknown; changes: object; writes: { after: { managed_access: string } }[] }[] }>(
      "GET",
      "/v1/audit-log?operation=integrations.connect",
    )
    expect(body.audit_log[0]?.actor).to.include({ surface: "mcp" })
    expect(body.audit_log[0]?.changes).to.not.have.property("managed_access")
    expect(body.audit_log[0]?.writes[0]?.after).to.include({ managed_access: "none" })
  })

  it("offers the toolsets that its options name, and only reads with --read-only", async () => {
    const list = { jsonrpc: "2.0", id: 1, method: "tools/list" }
    const create = { jsonrpc: "2.0", id: 2, method: "tools/call", params: { name: "datasets_create", arguments: { name: "Refused" } } }
    const { out } = await runMillrace(["mcp", "--tools", "datasets,me", "--read-only"], {
      env: environment(host.adminKey),
      stdin: [list, create].map((message) => `${JSON.stringify(message)}\n`).join(""),
    })
    expect(out).to.include('"datasets_list_rows"').and.include('"me_get"').and.not.include('"datasets_update"')
    expect(out).to.include("Unknown tool")
    expect((await host.api<{ total: number }>("GET", "/v1/datasets")).body.total).to.equal(0)
    const { answers } = await replies([list], { ...environment(host.adminKey) })
    expect(JSON.stringify(answers)).to.include('"search_tools"')
    const wrong = await runMillrace(["mcp", "--tools", "nothing"], { env: environment(host.adminKey), stdin: `${JSON.stringify(list)}\n` })
    expect(wrong.out).to.include("unknown_toolset")
  })

  it("answers what came before the input ended, refuses invalid lines, and ends well", async () => {
    const { code, answers } = await replies([
      { jsonrpc: "2.0", id: "a", method: "tools/call", params: { name: "me_get", arguments: {} } },
      "no message",
      { jsonrpc: "2.0", method: "notifications/initialized" },
      { jsonrpc: "2.0", id: 7, method: "tools/call", params: { name: "datasets_get", arguments: { slug: "größe" } } },
    ])
    expect(code).to.equal(0)
    expect(answers.map(({ id }) => id)).to.have.members(["a", null, 7])
    expect(JSON.stringify(answers.find(({ id }) => id === "a"))).to.include('\\"role\\":\\"owner\\"')
    expect(JSON.stringify(answers.find(({ id }) => id === 7))).to.include("not_found")
  })

  it("answers every request of a message that the service refuses as a whole", async () => {
    const call = (id: number | string) => ({
      jsonrpc: "2.0",
      id,
      method: "tools/call",
      params: { name: "me_get", arguments: { a: large } },
    })
    const large = "x".repeat(2_000_000)
    const { code, answers } = await replies([
      call(1),
      [call("a"), { jsonrpc: "2.0", method: "notifications/initialized" }, call("b")],
      { jsonrpc: "2.0", id: 2, method: "ping" },
    ])
    expect(code).to.equal(0)
    expect(answers.map(({ id }) => id)).to.have.members([1, "a", "b", 2])
    for (const answer of answers) expect(answer).to.have.property(answer["id"] === 2 ? "result" : "error")
  })

  it("carries a line as it stands, however deep it nests", async () => {
    const params = `{"name":"datasets_list","arguments":{"limit":${"[".repeat(50_000)}${"]".repeat(50_000)}}}`
    const { answers } = await replies([`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":${params}}`])
    expect(answers).to.have.length(1)
    expect(JSON.stringify(answers[0])).to.include("body_too_deep")
  })

  it("says so where the service cannot be reached or is none, and sends no key elsewhere by a redirect", async () => {
    const other = createServer((request, response) => {
      if (request.url === "/mcp") response.writeHead(307, { location: "/elsewhere" }).end()
      else response.end(String(request.headers.authorization))
    })
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve))
    const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`
    const ask = (at: string) =>
      replies([{ jsonrpc: "2.0", id: 1, method: "tools/list" }], { ...environment(host.adminKey), MILLRACE_URL: at })
    const redirected = JSON.stringify((await ask(url)).answers)
    expect(redirected).to.include('"error"').and.not.include(host.adminKey)
    other.close()
    // A port without an assigned service, and outside the system's own range.
    expect(JSON.stringify((await ask("http://127.0.0.1:2")).answers)).to.include("cannot be reached")
  })

  it("stops a call that its client takes back", async () => {
    const { promise: cut, resolve: closed } = Promise.withResolvers<void>()
    const slow = createServer((request, response) => {
      request.resume()
      response.once("close", closed)
    })
    await new Promise<void>((resolve) => slow.listen(0, "127.0.0.1", resolve))
    const env = { ...environment(host.adminKey), MILLRACE_URL: `http://127.0.0.1:${(slow.address() as AddressInfo).port}` }
    const child = spawn(process.execPath, [command, "mcp"], { env })
    const over = finished(child)
    const arrived = new Promise<void>((resolve) => slow.once("request", () => resolve()))
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "me_get" } })}\n`)
    await arrived
    child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } })}\n`)
    await cut
    child.stdin.end()
    expect(await over).to.deep.equal({ code: 0, output: "" })
    slow.closeAllConnections()
    slow.close()
  })

  it("says what is missing when there is no key", async () => {
    const { code, out, err } = await runMillrace(["mcp"], { env: { HOME: "/nonexistent", MILLRACE_URL: host.url } })
    expect([code, out]).to.deep.equal([3, ""])
    expect(err).to.include("millrace login")
  })
})
