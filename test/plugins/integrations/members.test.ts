// Connections created by members, and connections that only admins may change.
import { expect } from "chai"
import { UnitsOfWork } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { ApiKeys, Organizations } from "../../../plugins/platform/organizations/index.ts"

interface Answer {
  readonly integration_id: string
  readonly next_step: string
  readonly message: string
  readonly details: { readonly reason: string; readonly setting?: string }
}

const app = { app: "http", credentials: { base_url: "https://api.example.com", headers: { Authorization: "Bearer SECRET" } } }

describe("integrations of members", () => {
  let host: TestHost
  let ada: string
  let grace: string
  before(async () => {
    host = await testHost()
    ada = await memberKey("ada@example.com")
    grace = await memberKey("grace@example.com")
  })
  after(() => host.stop())

  const memberKey = (email: string) =>
    host.get(UnitsOfWork).run((work) => {
      const user = host.get(Organizations).addUser(work, { email })
      host.get(Organizations).addMember(work, host.organization.id, user.id, "member")
      const keyOptions = { name: "Key", kind: "api_key", role: "member", scopes: null, manager: false, user: user.id } as const
      return host.get(ApiKeys).mint(work, host.organization.id, keyOptions).text
    })
  const connect = (input: object, key = ada) => host.api<Answer>("POST", "/v1/integrations-connect", { ...app, ...input }, { key })
  const refusal = ({ status, body }: { status: number; body: Answer }) => [status, body.details.reason]

  it("are private: their connector renames, rotates and disconnects them, another member sees none", async () => {
    const response = await connect({ name: "Mine" })
    expect(response.status).to.equal(200)
    expect((await host.api("PATCH", "/v1/integrations/mine", { name: "My CRM" }, { key: ada })).body).to.include({ shared: false })
    expect((await connect({ name: "mine", rotate_credentials: true })).body.integration_id).to.equal(response.body.integration_id)
    expect((await host.api("GET", "/v1/integrations/mine", undefined, { key: grace })).status).to.equal(404)
    expect((await host.api("DELETE", "/v1/integrations/mine", undefined, { key: grace })).status).to.equal(404)
    expect((await host.api("DELETE", "/v1/integrations/mine", undefined, { key: ada })).status).to.equal(200)
  })

  it("are neither shared nor lent by a member", async () => {
    for (const input of [{ share_with_org: true }, { managed_access: "managed_organizations" }]) {
      expect(refusal(await connect({ name: "Ours", ...input }))).to.deep.equal([403, "role_too_low"])
      await connect({ name: "Own" })
      expect(refusal(await host.api<Answer>("PATCH", "/v1/integrations/own", input, { key: ada }))).to.deep.equal([403, "role_too_low"])
      expect(refusal(await connect({ name: "own", rotate_credentials: true, ...input }))).to.deep.equal([403, "role_too_low"])
      await host.api("DELETE", "/v1/integrations/own", undefined, { key: ada })
    }
    expect((await host.api<{ integrations: unknown[] }>("GET", "/v1/integrations", undefined, { key: ada })).body.integrations).to.be.empty
  })

  it("that an admin shares stay the admins' to change", async () => {
    await connect({ name: "Team" })
    await host.api("PATCH", "/v1/integrations/team", { share_with_org: true })
    const tries = [
      await host.api<Answer>("PATCH", "/v1/integrations/team", { name: "Mine again" }, { key: ada }),
      await host.api<Answer>("PATCH", "/v1/integrations/team", { share_with_org: false }, { key: grace }),
      await host.api<Answer>("DELETE", "/v1/integrations/team", undefined, { key: ada }),
      await connect({ name: "team", rotate_credentials: true }),
    ]
    for (const attempt of tries) expect(refusal(attempt)).to.deep.equal([403, "role_too_low"])
    expect((await host.api("GET", "/v1/integrations/team")).body).to.include({ name: "Team", shared: true, revision: 2 })
  })

  it("are refused if the organization's setting forbids them, by an error that names the setting", async () => {
    await connect({ name: "Before" })
    expect((await host.api("PATCH", "/v1/organization", { members_may_connect: false })).body).to.include({ members_may_connect: false })
    for (const input of [{ name: "After" }, { name: "before", rotate_credentials: true }]) {
      const refused = await connect(input)
      expect(refusal(refused)).to.deep.equal([403, "members_may_not_connect"])
      expect(refused.body.details.setting).to.equal("members_may_connect")
      expect(refused.body.message).to.include("members_may_connect")
    }
    expect((await connect({ name: "By an admin" }, host.adminKey)).status).to.equal(200)
    expect((await host.api("DELETE", "/v1/integrations/before", undefined, { key: ada })).status).to.equal(200)
    const members = await host.api<Answer>("PATCH", "/v1/organization", { members_may_connect: true }, { key: ada })
    expect(refusal(members)).to.deep.equal([403, "role_too_low"])
    await host.api("PATCH", "/v1/organization", { members_may_connect: true })
    expect((await connect({ name: "After" })).status).to.equal(200)
  })
})
