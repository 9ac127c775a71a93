// The steps of docs/managed-organizations.md, from two organizations to the end of the management.
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"

interface Answer {
  readonly slug: string
  readonly secret: string
  readonly code: string
  readonly details?: { readonly reason?: string }
}

describe("the documented steps of a managed organization", () => {
  let host: TestHost
  before(async () => {
    host = await testHost()
  })
  after(() => host.stop())

  it("lead from two organizations to a call of the manager, and end its access", async () => {
    const call = async (key: string, method: string, path: string, body?: object, organization = "") => {
      const headers = organization === "" ? {} : { "x-organization-id": organization }
      return await host.api<Answer>(method, path, body, { key, headers })
    }
    const create = async (name: string) => (await call(host.adminKey, "POST", "/v1/organizations", { name, first_key: true })).body
    const [agency, bakery] = [await create("Agency"), await create("Bakery")]
    const { body: invitation } = await call(agency.secret, "POST", "/v1/managed-organization-invitations", {
      role: "admin",
      note: "Bakery",
    })
    expect((await call(bakery.secret, "POST", "/v1/managed-organizations-accept", { code: invitation.code })).status).to.equal(200)
    const { body: manager } = await call(agency.secret, "POST", "/v1/api-keys", { name: "Agency", role: "admin", manager: true })
    const write = (name: string) => call(manager.secret, "POST", "/v1/datasets", { name }, bakery.slug)
    expect((await write("Leads")).status).to.equal(200)
    // A manager cannot appoint an owner of its client.
    const owner = { email: "agency@example.com", role: "owner" }
    expect((await call(manager.secret, "POST", "/v1/member-invitations", owner, bakery.slug)).status).to.equal(403)
    expect((await call(bakery.secret, "DELETE", `/v1/managed-organizations/${agency.slug}`)).status).to.equal(200)
    expect((await write("Later")).status).to.equal(404)
  })
})
