// `millrace mcp` with the official client over standard input and output: the tools of the operations, with the rights of
// the profile's key.
import { rmSync } from "node:fs"
import { join } from "node:path"
import { Client } from "@modelcontextprotocol/client"
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio"
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { projectRoot } from "../import-graph.ts"
import { runMillrace } from "./command-line.ts"

describe("millrace mcp", () => {
  let host: TestHost
  before(async () => {
    host = await testHost()
  })
  after(() => host.stop())

  it("offers the operations as tools, and calls them with the key", async () => {
    const { body } = await host.api<{ secret: string }>("POST", "/v1/api-keys", { name: "Guest", role: "guest" })
    const client = new Client({ name: "test", version: "1" })
    const home = join(host.dataDir, "home")
    const transport = new StdioClientTransport({
      command: process.execPath,
      args: [join(projectRoot, "core/millrace.js"), "mcp"],
      env: { PATH: process.env["PATH"] ?? "", HOME: home, MILLRACE_URL: host.url, MILLRACE_KEY: body.secret },
      stderr: "ignore",
    })
    try {
      await client.connect(transport)
      const { tools } = await client.listTools()
      expect(tools.map(({ name }) => name)).to.include.members(["datasets_list", "event_pipelines_create"])
      expect(tools.map(({ name }) => name)).to.not.include("datasets_export")
      const listed = await client.callTool({ name: "datasets_list", arguments: {} })
      expect(listed.structuredContent).to.deep.equal({ datasets: [], total: 0 })
      const refused = await client.callTool({ name: "datasets_create", arguments: { name: "Guest's" } })
      expect(refused.isError).to.equal(true)
      expect(JSON.stringify(refused.content)).to.include("permission_denied")
      expect((await host.api<{ total: number }>("GET", "/v1/datasets")).body.total).to.equal(0)
    } finally {
      await client.close()
      rmSync(home, { recursive: true, force: true })
    }
  }).timeout(30_000)

  it("says what is missing when there is no key", async () => {
    const { code, out, err } = await runMillrace(["mcp"], { env: { HOME: "/nonexistent", MILLRACE_URL: host.url } })
    expect([code, out]).to.deep.equal([3, ""])
    expect(err).to.include("millrace login")
  })
})
