// `plan` and `apply` of documents whose secret is to come from a variable.
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { CommandFolder } from "./command.ts"

const hooked = (more = "") =>
  `name: Hooked\nstate: active\nauth_mode: hmac_sha256\nauth_config: { secret: { from_env: HOOK_SECRET } }\n${more}`

interface Wire {
  readonly state: string
  readonly revision: number
  readonly inbound_url: string
}

describe("plan and apply of a secret from a variable", () => {
  let host: TestHost
  let folder: CommandFolder
  let env: Record<string, string>
  before(async () => {
    host = await testHost({})
  })
  after(() => host.stop())
  beforeEach(() => {
    folder = new CommandFolder()
    env = { MILLRACE_URL: host.url, MILLRACE_KEY: host.adminKey, HOME: folder.path }
  })
  afterEach(() => folder.remove())

  const stored = async (slug: string) => (await host.api<Wire>("GET", `/v1/event-pipelines/${slug}`)).body
  const signed = async (slug: string, secret: string) => (await host.send(await stored(slug), { n: 1 }, { secret })).status

  it("waits, proposed, naming the variable, however often it is applied, and takes the secret once it is set", async () => {
    folder.write("hooked.yaml", hooked())
    const planned = await folder.run(["plan", "hooked.yaml"], env)
    expect(planned.code, planned.output).to.equal(0)
    expect(planned.output).to.include("+ create     hooked").and.include("HOOK_SECRET, which is not set")
    const made = await folder.run(["apply", "hooked.yaml"], env)
    expect(made.output).to.include("+ created    hooked").and.include("HOOK_SECRET, which is not set")
    const first = await stored("hooked")
    expect(first.state).to.equal("proposed")

    for (const _ of [1, 2]) {
      const again = await folder.run(["apply", "hooked.yaml"], env)
      expect(again.output).to.include("1 unchanged").and.include("HOOK_SECRET, which is not set").and.not.include("~")
    }
    expect(await stored("hooked")).to.deep.equal(first)

    // Changed or not, it stays proposed without its secret.
    folder.write("hooked.yaml", hooked("pipeline: [{ type: respond, body: { ok: true } }]\n"))
    expect((await folder.run(["apply", "hooked.yaml"], env)).output).to.include("~ changed    hooked")
    expect((await stored("hooked")).state).to.equal("proposed")

    const set = await folder.run(["apply", "hooked.yaml"], { ...env, HOOK_SECRET: "from-the-variable" })
    expect(set.code, set.output).to.equal(0)
    expect(set.output).to.include("state: proposed → active").and.include("auth_config.secret: not set → from its variable")
    expect(set.output).to.not.include("from-the-variable").and.not.include("unset-variable")
    expect((await stored("hooked")).state).to.equal("active")
    expect(await signed("hooked", "from-the-variable")).to.equal(200)
    expect(await signed("hooked", "another")).to.equal(401)
    const done = await folder.run(["apply", "hooked.yaml"], { ...env, HOOK_SECRET: "from-the-variable" })
    expect(done.output).to.equal("1 unchanged\n")

    // What has its secret keeps it, and stays as it is, where the variable is gone.
    const before = await stored("hooked")
    const gone = await folder.run(["apply", "hooked.yaml"], env)
    expect(gone.output).to.include("1 unchanged").and.include("keeps the secret that it has")
    expect(await stored("hooked")).to.deep.equal(before)
    expect(await signed("hooked", "from-the-variable")).to.equal(200)
  })

  it("takes the secret of a document that is to stay proposed, and still waits after its file was away", async () => {
    folder.write("pipelines/hooked.yaml", hooked().replace("Hooked", "Later").replace("active", "proposed"))
    folder.write("pipelines/away.yaml", hooked().replace("Hooked", "Away"))
    folder.write("pipelines/other.yaml", "name: Other\nauth_mode: none\n")
    expect((await folder.run(["apply", "--force"], env)).code).to.equal(0)
    const left = new CommandFolder()
    try {
      left.write("pipelines/other.yaml", "name: Other\nauth_mode: none\n")
      left.write("pipelines/hooked.yaml", hooked().replace("Hooked", "Later").replace("active", "proposed"))
      expect((await left.run(["apply"], env)).output).to.include("- disabled   away")
    } finally {
      left.remove()
    }
    expect((await folder.run(["apply"], env)).output).to.include("~ changed    away")
    expect((await stored("away")).state).to.equal("proposed")
    const set = await folder.run(["apply"], { ...env, HOOK_SECRET: "set-at-last" })
    expect(set.output).to.include("~ changed    away").and.include("~ changed    later")
    expect([(await stored("away")).state, (await stored("later")).state]).to.deep.equal(["active", "proposed"])
    expect(await signed("away", "set-at-last")).to.equal(200)
  })
})
