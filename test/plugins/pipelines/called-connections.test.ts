// Pipelines with steps that name missing or private integrations.
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"

interface Saved {
  readonly slug: string
  readonly state: string
  readonly warnings: string[]
  readonly message: string
  readonly details: { readonly reason: string; readonly fields: { readonly path: string }[] }
}
interface Plan {
  readonly changes: { readonly needs_force: string[]; readonly warnings: string[] }[]
  readonly blocked: boolean
}

const step = (integration: string) => ({ id: "tell", type: "integration.call", integration, path: "/x" })
const credentials = { base_url: "https://api.example.com", headers: { Authorization: "Bearer SECRET" } }

describe("integrations that pipelines name", () => {
  let host: TestHost
  let count = 0
  before(async () => {
    host = await testHost()
    await host.api("POST", "/v1/integrations-connect", { app: "http", name: "Private", credentials })
    await host.api("POST", "/v1/integrations-connect", { app: "http", name: "Shared", credentials, share_with_org: true })
  })
  after(() => host.stop())

  const create = (input: object) =>
    host.api<Saved>("POST", "/v1/event-pipelines", { name: `Pipeline ${++count}`, auth_mode: "none", ...input })
  const put = (slug: string, change: object) => host.api<Saved>("PUT", `/v1/event-pipelines/${slug}`, change)
  const warned = ({ warnings }: { warnings: string[] }) => warnings.filter((text) => text.startsWith("missing-connection: ")).length
  const onError = {
    pipeline: [{ ...step("shared"), on_error: "tell_us" }],
    handlers: { tell_us: { type: "integration.call", integration: "gone", path: "/y" } },
  }
  const cases: [string, object, string][] = [
    ["a missing integration", { pipeline: [step("gone")] }, "pipeline.0.integration"],
    ["a private integration", { pipeline: [step("shared"), { ...step("private"), id: "two" }] }, "pipeline.1.integration"],
    ["a missing integration of a handler", onError, "handlers.tell_us.integration"],
  ]
  for (const [what, document, path] of cases) {
    it(`warns of ${what} at save and refuses to activate it without force`, async () => {
      const saved = await create(document)
      expect([saved.status, saved.body.state, warned(saved.body)]).to.deep.equal([200, "proposed", 1])
      const validated = await host.api<{ findings: { rule: string; pointer: string }[] }>("POST", "/v1/event-pipelines/validate", {
        document: { name: "Any", auth_mode: "none", ...document },
      })
      const findings = validated.body.findings.filter(({ rule }) => rule === "missing-connection")
      expect(findings.map(({ pointer }) => pointer)).to.deep.equal([`/${path.replaceAll(".", "/")}`])
      for (const refused of [await create({ ...document, state: "active" }), await put(saved.body.slug, { state: "active" })]) {
        expect([refused.status, refused.body.details.reason]).to.deep.equal([400, "connection_missing"])
        expect(refused.body.details.fields.map((field) => field.path)).to.deep.equal([path])
        expect(refused.body.message).to.include("`force`")
      }
      const read = await host.api<Saved>("GET", `/v1/event-pipelines/${saved.body.slug}`)
      expect([read.body.state, warned(read.body)]).to.deep.equal(["proposed", 1])
      const forced = await put(saved.body.slug, { state: "active", force: true })
      expect([forced.status, forced.body.state, warned(forced.body)]).to.deep.equal([200, "active", 1])
    })
  }

  it("may go missing under an active pipeline, which keeps accepting changes but no further missing step", async () => {
    const { body } = await create({ pipeline: [step("gone")], state: "active", force: true })
    const renamed = await put(body.slug, { name: "Renamed" })
    expect([renamed.status, warned(renamed.body)]).to.deep.equal([200, 1])
    const worse = await put(body.slug, { pipeline: [step("gone"), { ...step("private"), id: "two" }] })
    expect(worse.body.details.fields.map((field) => field.path)).to.deep.equal(["pipeline.1.integration"])
    expect(warned((await put(body.slug, { pipeline: [step("shared")] })).body)).to.equal(0)
  })

  it("are those of steps, not a field of a body, and are found once they are shared or lent", async () => {
    const body = { type: "note", integration: "gone" }
    const quiet = await create({ pipeline: [{ ...step("shared"), body }], state: "active" })
    expect([quiet.status, quiet.body.warnings]).to.deep.equal([200, []])
    await host.api("POST", "/v1/integrations-connect", { app: "http", name: "Lent", credentials, managed_access: "managed_organizations" })
    expect((await create({ pipeline: [step("lent")], state: "active" })).body.warnings).to.deep.equal([])
  })

  it("block an apply unless it is forced, and the plan says so", async () => {
    const document = { slug: "from-a-file", name: "From a file", auth_mode: "none", state: "active", pipeline: [step("gone")] }
    const documents = [{ path: "pipelines/from-a-file.yaml", document }]
    const plan = await host.api<Plan>("POST", "/v1/event-pipelines/plan", { documents })
    expect(plan.body.blocked).to.equal(true)
    expect(plan.body.changes[0]?.needs_force[0]).to.include('"gone"')
    const refused = await host.api<Saved>("POST", "/v1/event-pipelines/apply", { documents })
    expect([refused.status, refused.body.details.reason]).to.deep.equal([400, "connection_missing"])
    expect((await host.api("GET", "/v1/event-pipelines/from-a-file")).status).to.equal(404)
    const forced = await host.api<Plan>("POST", "/v1/event-pipelines/apply", { documents, force: true })
    expect([forced.status, warned(forced.body.changes[0] ?? { warnings: [] })]).to.deep.equal([200, 1])
  })
})
