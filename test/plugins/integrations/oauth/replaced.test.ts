// Replaced tokens are revoked, unless the revocation could end another connection. At some vendors one revocation ends all grants
// of an account.
import { expect } from "chai"
import { until } from "../../../waiting.ts"
import { Browser } from "./browser.ts"
import { returnUrl, startVendorService, type VendorService, vendorDocument } from "./vendor-service.ts"

describe("grants that are replaced", () => {
  let service: VendorService
  before(async () => {
    const documents = (origin: string) => [
      vendorDocument("single", origin),
      {
        ...vendorDocument("whole", origin, { revocation_ends: "account" }),
      },
      { ...vendorDocument("native", origin), auth: { ...vendorDocument("native", origin).auth, api_key: {} } },
    ]
    service = await startVendorService(documents)
  })
  after(() => service.stop())
  beforeEach(() => {
    service.vendor.told = {}
    service.vendor.asked.length = 0
  })

  const again = async (app: string, name: string) => {
    const input = { app, name, rotate_credentials: true, return_url: returnUrl }
    const { body } = await service.host.api<{ connect_url: string }>("POST", "/v1/integrations-connect", input)
    const { url } = await new Browser().open(body.connect_url, (next) => next.startsWith(returnUrl))
    expect(new URL(url).searchParams.get("status")).to.equal("connected")
  }
  const disconnect = (id = "") => service.host.api("DELETE", `/v1/integrations/${id}`)
  const revoked = () => service.vendor.at("/revoke").map(({ form }) => form.get("token") ?? "")
  const tokenOf = async (id: string) => {
    service.vendor.asked.length = 0
    expect((await service.call(id)).status).to.equal(200)
    return service.vendor.at("/v3/contacts")[0]?.authorization.replace("Bearer ", "") ?? ""
  }
  const nothingQueued = () =>
    until("no job being left", async () => {
      const { body } = await service.host.api<{ jobs: { type: string }[] }>("GET", "/v1/jobs?state=queued&limit=200")
      return body.jobs.every(({ type }) => type !== "integrations.revoke_grant")
    })

  it("are revoked where access is granted again, and the new one works", async () => {
    const { integration_id: id = "" } = await service.connect("single", "Again")
    const old = await tokenOf(id)
    await again("single", "Again")
    await until("both tokens being revoked", () => revoked().length === 2)
    expect(revoked()).to.include(old)
    expect(await tokenOf(id)).not.to.equal(old)
    expect(revoked()).to.deep.equal([])
  })

  it("are revoked where credentials take their place", async () => {
    const { integration_id: id = "" } = await service.connect("native", "Native")
    const old = await tokenOf(id)
    const input = { app: "native", name: "Native", rotate_credentials: true, credentials: { api_key: "KEY" } }
    expect((await service.host.api("POST", "/v1/integrations-connect", input)).status).to.equal(200)
    await until("both tokens being revoked", () => revoked().length === 2)
    expect(revoked()).to.include(old)
    expect(await tokenOf(id)).to.equal("KEY")
  })

  it("are left where the vendor gave the same tokens again", async () => {
    service.vendor.told = { refresh_token: "REFRESH-TOKEN-same-0123456789" }
    const { integration_id: id = "" } = await service.connect("single", "Same")
    await again("single", "Same")
    await nothingQueued()
    expect(revoked()).to.deep.equal([])
    expect((await service.call(id)).status).to.equal(200)
  })

  it("are left where that could end another connection, and revoked with the last one", async () => {
    const { body } = await service.host.api<{ integrations: { id: string }[] }>("GET", "/v1/integrations")
    for (const { id } of body.integrations) await disconnect(id)
    await nothingQueued()
    service.vendor.asked.length = 0
    const { integration_id: first = "" } = await service.connect("whole", "First")
    const { integration_id: second = "" } = await service.connect("whole", "Second")
    await again("whole", "First")
    expect((await disconnect(first)).status).to.equal(200)
    await nothingQueued()
    expect(revoked()).to.deep.equal([])
    expect((await service.call(second)).status).to.equal(200)
    expect(service.host.logged.join("\n")).to.include("could end another connection of the same account")
    const last = await tokenOf(second)
    await disconnect(second)
    await until("both tokens being revoked", () => revoked().length === 2)
    expect(revoked()).to.include(last)
  })
})
