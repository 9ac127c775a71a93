// The official MCP conformance suite against the whole service, in the current and the previous revision of the protocol. Lists
// beside this file contain the exceptions with reasons.
import { execFile } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { conformanceFixtures } from "./conformance-fixtures.ts"
import { type KeyProxy, keyProxy } from "./key-proxy.ts"

const suite = fileURLToPath(import.meta.resolve("@modelcontextprotocol/conformance/dist/index.js"))

describe("MCP conformance", () => {
  let host: TestHost
  let proxy: KeyProxy
  let folder: string
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), "millrace-conformance-"))
    host = await testHost({ plugins: [conformanceFixtures] })
    proxy = await keyProxy(host.url, host.adminKey)
  })
  after(async () => {
    await proxy.close()
    await host.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  for (const { revision, least } of [
    { revision: "2025-11-25", least: 30 },
    { revision: "2026-07-28", least: 80 },
  ]) {
    it(`holds for ${revision}, but for what does not apply`, async () => {
      const list = fileURLToPath(new URL(`./does-not-apply-${revision}.yaml`, import.meta.url))
      const args = ["server", "--url", `${proxy.url}/mcp`, "--requirements", revision, "--expected-failures", list, "-o", folder]
      const { code, output } = await run(args)
      expect(code, output).to.equal(0)
      const passed = Number(/Total: (\d+) passed/.exec(output)?.[1])
      expect(passed, "checks that passed").to.be.at.least(least)
    })
  }

  it("would not hold without a key", async () => {
    const { code } = await run(["server", "--url", `${host.url}/mcp`, "--scenario", "tools-list", "-o", folder])
    expect(code).to.equal(1)
  })
})

function run(args: string[]): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [suite, ...args], { maxBuffer: 50_000_000 }, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code ?? 1) : 0, output: stdout + stderr })
    })
  })
}
