// Recovery by the operator's command: beside a running service, and on the store of a stopped service.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { addUser, type Browser, signedIn } from "../plugins/identity/people.ts"
import { runAlone } from "./command-line.ts"

describe("millrace members recover --operator", () => {
  const folder = mkdtempSync(join(tmpdir(), "millrace-recover-"))
  let host: TestHost
  const recover = async (email: string) => {
    const env = { PATH: process.env["PATH"], NO_COLOR: "1", MILLRACE_DATA_DIR: folder, PORT: "0", MILLRACE_PIPELINES_PATHS: "," }
    return await runAlone(folder, ["members", "recover", "--email", email, "--operator", "--json"], env)
  }
  before(async () => {
    host = await testHost({ dataDir: folder, env: { MILLRACE_PUBLIC_URL: "https://millrace.example.com" } })
  })
  after(async () => {
    await host.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  it("ends the sessions of a person, and names an unknown address", async () => {
    const browser: Browser = await signedIn(host, await addUser(host, "ada@example.com", "owner"))
    expect(await browser.me()).to.equal("ada@example.com")
    expect((await recover("ada@example.com")).code).to.equal(0)
    expect(await browser.me()).to.deep.equal([401, "session_ended"])
    const { code, said: expectedText } = await recover("nobody@example.com")
    expect(code).to.not.equal(0)
    expect(expectedText.map(({ text }) => text).join("")).to.include("nobody@example.com")
  })

  it("ends the sessions on the store of a stopped service", async () => {
    const browser = await signedIn(host, await addUser(host, "grace@example.com"))
    const text = browser.cookies.get("__Host-mr_session") ?? ""
    await host.stop()
    expect((await recover("grace@example.com")).code).to.equal(0)
    host = await testHost({ dataDir: folder, env: { MILLRACE_PUBLIC_URL: "https://millrace.example.com" } })
    const { status } = await host.api("GET", "/v1/me", undefined, { key: text })
    expect(status).to.equal(401)
  })
})
