// The target service of a command: the running service of this folder, otherwise a profile, and any other only with a message.
// Also settings that only a start needs.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import { z } from "zod"
import { definePlugin } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { frameworkRoot, type LoadedPlugin } from "../../core/bootstrap/plugins.ts"
import { targetLine, targetOf } from "../../core/cli/profiles.ts"
import { BootError, loadConfig } from "../../core/kernel/config.ts"
import { orderPlugins } from "../../core/kernel/loader.ts"
import { runIn, runMillrace } from "./command-line.ts"
import { CommandFolder } from "./pipelines/command.ts"

describe("the service that a command means", () => {
  let home: string
  beforeEach(() => {
    home = mkdtempSync(join(tmpdir(), "millrace-home-"))
  })
  afterEach(() => rmSync(home, { recursive: true, force: true }))

  const keep = (env: { HOME: string }, url: string) => {
    mkdirSync(join(env.HOME, ".config/millrace"), { recursive: true, mode: 0o700 })
    const profiles = { current: "default", profiles: { default: { url, key: "mr_api_of_profile" } } }
    writeFileSync(join(env.HOME, ".config/millrace/profiles.json"), JSON.stringify(profiles), { mode: 0o600 })
  }
  const own = (runs: boolean) => ({ url: "http://127.0.0.1:8090", key: "mr_api_own", runs })

  it("is that of the folder while it runs, the profile else, and what is named in any case", () => {
    const env = { HOME: home }
    keep(env, "http://127.0.0.1:8080")
    expect(targetOf(env, { own: own(true) })).to.include({ url: "http://127.0.0.1:8090", key: "mr_api_own" })
    expect(targetLine(targetOf(env, { own: own(true) }))).to.equal("Service: http://127.0.0.1:8090 (the service of this folder)")
    expect(targetOf(env, { own: own(false) })).to.include({ url: "http://127.0.0.1:8080", key: "mr_api_of_profile" })
    expect(targetOf(env, { own: own(true), profile: "default" }).url).to.equal("http://127.0.0.1:8080")
    expect(targetOf({ ...env, MILLRACE_URL: "http://127.0.0.1:8080" }, { own: own(true) }).key).to.equal("mr_api_of_profile")
    expect(targetOf({ ...env, MILLRACE_KEY: "k", MILLRACE_URL: "http://x.test" }, { own: own(true) })).to.include({
      url: "http://x.test",
      key: "k",
    })
  })

  describe("and login", () => {
    let host: TestHost
    before(async () => {
      host = await testHost()
    })
    after(() => host.stop())

    it("is not needed in the folder of a service that runs: its operations are called there", async () => {
      const folder = new CommandFolder()
      keep({ HOME: home }, "http://127.0.0.1:1")
      folder.write("data/bootstrap.json", JSON.stringify({ base_url: host.url, admin_key: host.adminKey, organization: "default" }))
      await host.api("POST", "/v1/datasets", { name: "Of this folder" })
      const { code, output } = await runIn(folder.path, ["datasets", "list"], { HOME: home })
      folder.remove()
      expect(code, output).to.equal(0)
      expect(output).to.include("of-this-folder")
    })

    it("keeps the profile of another service under the name of its host, and says so", async () => {
      const env = { HOME: home }
      keep(env, "http://127.0.0.1:8080")
      const { code, out } = await runMillrace(["login", "--url", host.url], { env, stdin: `${host.adminKey}\n` })
      expect([code, out.includes('"default" was http://127.0.0.1:8080 before; that is now "127.0.0.1:8080".')]).to.deep.equal([0, true])
      const { out: list } = await runMillrace(["profiles"], { env })
      expect(list)
        .to.match(/^127\.0\.0\.1:8080 +http:\/\/127\.0\.0\.1:8080 /m)
        .and.to.include(host.url)
    })
  })
})

describe("settings from variables that are not set", () => {
  let folder: string
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "millrace-config-"))
  })
  after(() => rmSync(folder, { recursive: true, force: true }))
  const plugin = definePlugin({
    id: "sms",
    config: z.strictObject({ token: z.string().min(5), pin: z.coerce.number() }),
    register: () => {},
  })

  it("stop a start, and no other command", () => {
    const file = join(folder, "millrace.yaml")
    const sms = "{ token: { from_env: NO_TOKEN }, pin: { from_env: NO_PIN } }"
    writeFileSync(file, `server: { port: { from_env: NO_PORT } }\nplugins: { settings: { sms: ${sms} } }\n`)
    const args = { defaults: join(frameworkRoot, "config/default.yaml"), file, env: {} }
    expect(() => loadConfig(args)).to.throw(BootError, /NO_TOKEN, which is not set/)
    const { config } = loadConfig({ ...args, unset: "placeholder" })
    const { unset = [] } = config
    expect(config.server.port).to.equal(8080)
    expect([...unset].sort()).to.deep.equal(["plugins.settings.sms.pin", "plugins.settings.sms.token", "server.port"])
    const problems: string[] = []
    const loaded: LoadedPlugin[] = orderPlugins([{ plugin, from: "here" }], config.plugins.settings, problems, unset)
    expect(problems).to.deep.equal([])
    expect(loaded).to.have.length(1)
    const wrong = { sms: { token: "abc", pin: "(NO_PIN is not set)" } }
    orderPlugins([{ plugin, from: "here" }], wrong, problems, ["plugins.settings.sms.pin"])
    expect(problems.join(" ")).to.include("token")
  })
})

describe("commands in a project whose settings come from variables that are not set", () => {
  let folder: CommandFolder
  before(() => {
    folder = new CommandFolder()
    folder.write(
      "config/millrace.yaml",
      "plugins: { paths: [./plugins], settings: { sms: { url: { from_env: SMS_URL }, retries: { from_env: SMS_RETRIES } }, email: { transport: smtp, url: { from_env: SMTP_URL } } } }\n",
    )
    folder.write(
      "plugins/sms/index.ts",
      `import { z } from ${JSON.stringify(join(frameworkRoot, "node_modules/zod/index.js"))}
import { definePlugin } from ${JSON.stringify(join(frameworkRoot, "core/index.ts"))}
export default definePlugin({ id: "sms", config: z.strictObject({ url: z.url(), retries: z.int().default(3) }), register: () => {} })
`,
    )
    folder.write(
      "pipelines/lead.yaml",
      "name: Lead\nauth_mode: hmac_sha256\nauth_config: { secret: { from_env: LEAD_SECRET } }\npipeline: []\n",
    )
    folder.write("pipelines/lead.test.yaml", "tests: [{ name: takes it, event: { body: {} }, expect: { status: accepted } }]\n")
    folder.write("event.yaml", "{}\n")
  })
  after(() => folder.remove())

  for (const args of [["validate"], ["test"], ["run", "pipelines/lead.yaml", "--event", "event.yaml"], ["graph", "pipelines/lead.yaml"]]) {
    it(`need none of them: pipelines ${args[0]}`, async () => {
      const { code, output } = await folder.run(args)
      expect(code, output).to.equal(0)
      expect(output).to.not.include("not set")
    })
  }

  it("need none of them: schema and config", async () => {
    for (const command of ["schema", "config"]) {
      const { code, output } = await runIn(folder.path, [command])
      expect(code, output).to.equal(0)
    }
    expect((await runIn(folder.path, ["config"])).output).to.include("SMS_URL, not set")
  })

  it("name them where the service is started", async () => {
    const { code, output } = await runIn(folder.path, ["backup", "copy.db"])
    expect(code).to.equal(1)
    for (const name of ["SMS_URL", "SMS_RETRIES", "SMTP_URL"]) expect(output).to.include(`the variable ${name}, which is not set`)
  })
})
