// Settings of an organization, and staff of the service.
import { expect } from "chai"
import { UnitsOfWork } from "#core"
import type { Role } from "#core/engine"
import { type TestHost, testHost } from "#core/testing"
import { ApiKeys, Organizations } from "../../../plugins/platform/organizations/index.ts"

interface Refusal {
  readonly details: { readonly reason?: string }
}

describe("settings of organizations", () => {
  let host: TestHost
  before(async () => {
    host = await testHost({ env: { MILLRACE_PLUGINS_SETTINGS: JSON.stringify({ organizations: { staff: ["Named@Example.com"] } }) } })
  })
  after(() => host.stop())

  /** Creates a user of the organization, with a key. */
  const member = (organization: string, email: string, role: Role) =>
    host.get(UnitsOfWork).run((work) => {
      const user = host.get(Organizations).addUser(work, { email })
      host.get(Organizations).addMember(work, organization, user.id, role)
      const keyOptions = { name: "Key", kind: "api_key", role, scopes: null, manager: false, user: user.id } as const
      return { id: user.id, key: host.get(ApiKeys).mint(work, organization, keyOptions).text }
    })
  const another = (slug: string) => host.get(UnitsOfWork).run((work) => host.get(Organizations).create(work, { name: slug, slug }))
  const isStaff = async (key: string) => (await host.api<{ user: { staff: boolean } }>("GET", "/v1/me", undefined, { key })).body.user.staff
  const mark = (id: string, staff: boolean, key = host.adminKey) =>
    host.api<{ staff: boolean } & Refusal>("PUT", `/v1/members/${id}/staff`, { staff }, { key })

  it("are its name and its time zone, UTC unless set, changed by admins", async () => {
    expect((await host.api("GET", "/v1/organization")).body).to.include({ slug: "default", name: "Default", time_zone: "UTC" })
    const changed = await host.api("PATCH", "/v1/organization", { time_zone: "Europe/Berlin", name: "Acme" })
    expect(changed.body).to.include({ name: "Acme", time_zone: "Europe/Berlin" })
    expect((await host.api("GET", "/v1/organization")).body).to.deep.equal(changed.body)
    const wrong = await host.api<Refusal>("PATCH", "/v1/organization", { time_zone: "Berlin" })
    expect([wrong.status, wrong.body.details.reason]).to.deep.equal([400, "invalid_fields"])
    const { key } = await member(host.organization.id, "member@example.com", "member")
    expect((await host.api<Refusal>("PATCH", "/v1/organization", { name: "Mine" }, { key })).body.details.reason).to.equal("role_too_low")
    expect((await host.api("GET", "/v1/organization")).body).to.include({ name: "Acme" })
  })

  it("let an owner of the service's own organization mark staff, at once, in any organization", async () => {
    const { id } = await another("elsewhere")
    const user = await member(id, "support@example.com", "guest")
    expect(await isStaff(user.key)).to.equal(false)
    expect((await mark(user.id, true)).body).to.deep.equal({ user_id: user.id, staff: true })
    expect(await isStaff(user.key)).to.equal(true)
    await mark(user.id, false)
    expect(await isStaff(user.key)).to.equal(false)
    expect((await mark("0199f3a2-7c1e-7d40-9b3a-5e2f6c8d1a04", true)).body.details.reason).to.equal("member_not_found")
  })

  it("let nobody else mark staff: an owner of another organization can only give the mark up", async () => {
    const { id } = await another("outside")
    const owner = await member(id, "outside@example.com", "owner")
    const colleague = await member(id, "colleague@example.com", "member")
    const stranger = await member(host.organization.id, "stranger@example.com", "member")
    for (const item of [owner, colleague]) {
      const refused = await mark(item.id, true, owner.key)
      expect([refused.status, refused.body.details.reason]).to.deep.equal([403, "not_service_owner"])
    }
    expect((await mark(stranger.id, true, owner.key)).body.details.reason).to.equal("member_not_found")
    expect((await mark(owner.id, true, stranger.key)).body.details.reason).to.equal("role_too_low")
    await mark(owner.id, true)
    expect((await mark(owner.id, false, owner.key)).body.staff).to.equal(false)
    expect(await isStaff(owner.key)).to.equal(false)
  })

  it("take users whom the configuration names for staff, wherever a user is shown", async () => {
    const { id, key } = await member(host.organization.id, "named@example.com", "guest")
    expect(await isStaff(key)).to.equal(true)
    expect((await mark(id, false)).body.staff).to.equal(true)
    const { members } = (await host.api<{ members: { user_id: string; staff: boolean }[] }>("GET", "/v1/members")).body
    expect(members.filter(({ staff }) => staff).map(({ user_id }) => user_id)).to.deep.equal([id])
  })
})
