// `plan` and `apply` of documents with a secret from a variable.
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

  const rotate = async (slug: string, body: object) =>
    (await host.api<{ secret: string }>("POST", `/v1/event-pipelines/${slug}/rotate-secret`, body)).body.secret
  const stored = async (slug: string) => (await host.api<Wire>("GET", `/v1/event-pipelines/${slug}`)).body
  const signed = async (slug: string, secret: string) => (await host.send(await stored(slug), { n: 1 }, { secret })).status

  it("waits, proposed, naming the variable, however often it is applied, and takes the secret once it is set", async () => {
    folder.write("hooked.yaml", hooked())
    const planned = await folder.run(["plan", "hooked.yaml"], env)
    expect(planned.code, planned.output).to.equal(0)
    expect(planned.output).to.include("+ create     hooked").and.include("HOOK_SECRET, which is not set")
    const result = await folder.run(["apply", "hooked.yaml"], env)
    expect(result.output).to.include("+ created    hooked").and.include("HOOK_SECRET, which is not set")
    const first = await stored("hooked")
    expect(first.state).to.equal("proposed")

    for (const _ of [1, 2]) {
      const again = await folder.run(["apply", "hooked.yaml"], env)
      expect(again.output).to.include("1 unchanged").and.include("HOOK_SECRET, which is not set").and.not.include("~")
    }
    expect(await stored("hooked")).to.deep.equal(first)

    // Changed or not, the document stays proposed without its secret.
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
    const output = await folder.run(["apply", "hooked.yaml"], { ...env, HOOK_SECRET: "from-the-variable" })
    expect(output.output).to.equal("1 unchanged\n")

    // Without the variable, a document with a secret keeps it and stays unchanged.
    const before = await stored("hooked")
    const second = await folder.run(["apply", "hooked.yaml"], env)
    expect(second.output).to.include("1 unchanged").and.include("keeps its secret")
    expect(await stored("hooked")).to.deep.equal(before)
    expect(await signed("hooked", "from-the-variable")).to.equal(200)
  })

  it("shows and takes another secret as a change, shows neither, and ends the one before", async () => {
    folder.write("turned.yaml", hooked().replace("Hooked", "Turned"))
    const [first, second] = [
      { ...env, HOOK_SECRET: "the-leaked-one-of-the-hook" },
      { ...env, HOOK_SECRET: "the-fresh-one-of-the-hook" },
    ]
    expect((await folder.run(["apply", "turned.yaml"], first)).code).to.equal(0)
    const before = await stored("turned")
    const planned = await folder.run(["plan", "turned.yaml"], second)
    expect([planned.code, planned.output]).to.deep.equal([
      0,
      "~ change     turned  turned.yaml\n    auth_config.secret: changed\n1 to change\n",
    ])
    expect(await stored("turned")).to.deep.equal(before)
    expect(await signed("turned", "the-leaked-one-of-the-hook")).to.equal(200)
    const applied = await folder.run(["apply", "turned.yaml", "--json"], second)
    expect(applied.code, applied.output).to.equal(0)
    for (const { output } of [planned, applied]) expect(output).to.not.match(/the-(leaked|fresh)-one/)
    expect([await signed("turned", "the-leaked-one-of-the-hook"), await signed("turned", "the-fresh-one-of-the-hook")]).to.deep.equal([
      401, 200,
    ])
    const wire = await stored("turned")
    expect(wire.revision).to.equal(before.revision + 1)
    for (const command of ["apply", "plan"]) expect((await folder.run([command, "turned.yaml"], second)).output).to.equal("1 unchanged\n")
    expect((await folder.run(["apply", "turned.yaml"], env)).output).to.include("keeps its secret")
    expect(await stored("turned")).to.deep.equal(wire)
  })

  it("takes a secret that was rotated on the server for a change made there, until the variable holds it", async () => {
    folder.write("rotated.yaml", hooked().replace("Hooked", "Rotated"))
    const withSecret = (secret: string) => ({ ...env, HOOK_SECRET: secret })
    expect((await folder.run(["apply", "rotated.yaml"], withSecret("the-named-secret-of-the-hook"))).code).to.equal(0)
    const fresh = await rotate("rotated", { overlap: "1h" })
    const stale = await folder.run(["apply", "rotated.yaml"], withSecret("the-named-secret-of-the-hook"))
    expect(stale.code).to.equal(1)
    expect(stale.output).to.include("! Its secret was rotated on the server").and.include("Nothing was applied")
    // Without the variable, the secret is neither compared nor deleted.
    expect((await folder.run(["apply", "rotated.yaml"], env)).code).to.equal(0)
    expect((await folder.run(["plan", "rotated.yaml"], withSecret("the-named-secret-of-the-hook"))).code).to.equal(1)
    expect(await signed("rotated", fresh)).to.equal(200)

    // Applied: unchanged, with the same overlap. The next change comes from the file again.
    expect((await folder.run(["apply", "rotated.yaml"], withSecret(fresh))).output).to.equal("1 unchanged\n")
    expect(await signed("rotated", "the-named-secret-of-the-hook")).to.equal(200)
    expect((await folder.run(["apply", "rotated.yaml"], withSecret("the-next-secret-of-the-hook"))).output).to.include(
      "auth_config.secret: changed",
    )
    const tried = [
      await signed("rotated", "the-named-secret-of-the-hook"),
      await signed("rotated", fresh),
      await signed("rotated", "the-next-secret-of-the-hook"),
    ]
    expect(tried).to.deep.equal([401, 401, 200])

    const again = await rotate("rotated", {})
    const forced = await folder.run(["apply", "rotated.yaml", "--force"], withSecret("the-next-secret-of-the-hook"))
    expect(forced.code, forced.output).to.equal(0)
    expect([await signed("rotated", again), await signed("rotated", "the-next-secret-of-the-hook")]).to.deep.equal([401, 200])
  })

  it("lets only an admin's key replace a secret, as rotate-secret does", async () => {
    folder.write("guarded.yaml", hooked().replace("Hooked", "Guarded"))
    const { body } = await host.api<{ secret: string }>("POST", "/v1/api-keys", { kind: "api_key", name: "Builder", role: "member" })
    const member = { ...env, MILLRACE_KEY: body.secret }
    expect((await folder.run(["apply", "guarded.yaml"], { ...member, HOOK_SECRET: "given-at-first-of-the-hook" })).code).to.equal(0)
    expect((await folder.run(["apply", "guarded.yaml"], { ...member, HOOK_SECRET: "given-at-first-of-the-hook" })).output).to.equal(
      "1 unchanged\n",
    )
    const refused = await folder.run(["apply", "guarded.yaml"], { ...member, HOOK_SECRET: "of-a-member-of-the-hook" })
    expect(refused.code).to.equal(1)
    expect(refused.output)
      .to.match(/! refused +guarded/)
      .and.include("requires an admin key")
    expect([await signed("guarded", "given-at-first-of-the-hook"), await signed("guarded", "of-a-member-of-the-hook")]).to.deep.equal([
      200, 401,
    ])
  })

  it("takes the secret of a document that is to stay proposed, and still waits after its file was away", async () => {
    folder.write("pipelines/hooked.yaml", hooked().replace("Hooked", "Later").replace("active", "proposed"))
    folder.write("pipelines/away.yaml", hooked().replace("Hooked", "Away"))
    folder.write("pipelines/other.yaml", "name: Other\nauth_mode: none\n")
    expect((await folder.run(["apply", "--force"], env)).code).to.equal(0)
    const commandFolder = new CommandFolder()
    try {
      commandFolder.write("pipelines/other.yaml", "name: Other\nauth_mode: none\n")
      commandFolder.write("pipelines/hooked.yaml", hooked().replace("Hooked", "Later").replace("active", "proposed"))
      expect((await commandFolder.run(["apply"], env)).output).to.include("- disabled   away")
    } finally {
      commandFolder.remove()
    }
    expect((await folder.run(["apply"], env)).output).to.include("~ changed    away")
    expect((await stored("away")).state).to.equal("proposed")
    const set = await folder.run(["apply"], { ...env, HOOK_SECRET: "set-at-last-of-the-hook" })
    expect(set.output).to.include("~ changed    away").and.include("~ changed    later")
    expect([(await stored("away")).state, (await stored("later")).state]).to.deep.equal(["active", "proposed"])
    expect(await signed("away", "set-at-last-of-the-hook")).to.equal(200)
  })
})
