// Keys stored by `millrace login`: file permissions, and allowed target services.
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { type RunOptions, runMillrace } from "./command-line.ts"

describe("profiles", () => {
  let host: TestHost
  let home: string
  before(async () => {
    host = await testHost()
  })
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), "millrace-home-"))
  })
  afterEach(() => rmSync(home, { recursive: true, force: true }))
  after(() => host.stop())

  // The tests' folder may contain a service, and a command without a profile would use its key.
  const run = (args: string[], { env = {}, ...options }: RunOptions = {}) =>
    runMillrace(args, { env: { HOME: home, MILLRACE_DATA_DIR: home, ...env }, ...options })
  const file = () => join(home, ".config/millrace/profiles.json")

  it("keep a key from standard input, readable by the user alone, once the service has taken it", async () => {
    const wrong = await run(["login", "--url", host.url], { stdin: "mr_api_wrong\n" })
    expect(wrong.code).to.equal(3)
    expect(existsSync(file())).to.equal(false)
    const right = await run(["login", "--url", host.url], { stdin: `${host.adminKey}\n` })
    expect(right.code, right.err).to.equal(0)
    expect(right.out).to.include("owner of default").and.include(file())
    expect(right.out + right.err).to.not.include(host.adminKey)
    expect(statSync(file()).mode & 0o777).to.equal(0o600)
    expect(statSync(join(home, ".config/millrace")).mode & 0o777).to.equal(0o700)
    expect(JSON.parse((await run(["me", "get", "--json"])).out)).to.include({ role: "owner" })
    chmodSync(file(), 0o644)
    await run(["me", "get"])
    expect(statSync(file()).mode & 0o777).to.equal(0o600)
  })

  it("take address and key from what a first start wrote, and honour XDG_CONFIG_HOME", async () => {
    const xdg = join(home, "elsewhere")
    const { code } = await run(["login", "--from", join(host.dataDir, "bootstrap.json")], { env: { XDG_CONFIG_HOME: xdg } })
    expect(code).to.equal(0)
    expect(readFileSync(join(xdg, "millrace/profiles.json"), "utf8")).to.include(host.adminKey)
    expect(existsSync(file())).to.equal(false)
    const bad = await run(["login", "--from", join(home, "none.json")])
    expect([bad.code, bad.err.includes("none.json cannot be read")]).to.deep.equal([1, true])
  })

  it("are several by name, listed without their keys, one of them current", async () => {
    const login = (profile: string) =>
      run(["login", "--url", host.url, "--profile", profile, "--organization", "default"], { stdin: host.adminKey })
    await login("first")
    await login("second")
    const result = await run(["profiles", "--use", "first"])
    expect(result.out)
      .to.match(/^first +yes /m)
      .and.match(/^second +http/m)
    expect(result.out).to.not.include(host.adminKey)
    const secret = host.adminKey.split("_").at(-1) ?? ""
    expect(result.out).to.not.include(secret)
    expect((await run(["me", "get", "--profile", "thrid"])).err).to.match(
      /The profile "thrid" does not exist.*"?third|first, second|Did you mean/,
    )
    expect((await run(["logout"])).out).to.include('"first" is forgotten')
    expect((await run(["profiles"])).out).to.match(/^second +yes /m)
    expect((await run(["logout", "second"])).code).to.equal(0)
    expect(readFileSync(file(), "utf8")).to.not.include(host.adminKey)
    expect((await run(["me", "get"])).code).to.equal(3)
  })

  it("never send a profile's key to another address", async () => {
    const messages: (string | undefined)[] = []
    const other = createServer((request, response) => {
      messages.push(request.headers.authorization)
      response.writeHead(401).end()
    })
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve))
    const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`
    try {
      await run(["login", "--url", host.url], { stdin: host.adminKey })
      const ran = await run(["me", "get"], { env: { MILLRACE_URL: url } })
      expect([ran.code, ran.err.trim()]).to.deep.equal([3, `No key is stored for ${url}: run \`millrace login\`, or set MILLRACE_KEY.`])
      expect(messages).to.deep.equal([])
      await run(["me", "get"], { env: { MILLRACE_URL: url, MILLRACE_KEY: "given" } })
      expect(messages).to.deep.equal(["Bearer given"])
    } finally {
      other.close()
    }
  })
})
