// Two nodes that call through one connection: together they respect its app's rate limit, and both apply the vendor's requested
// delay.
import { expect } from "chai"
import type { TestHost } from "#core/testing"
import { Integrations } from "../../../plugins/agents/integrations/index.ts"
import { onMongo } from "../../pipeline/stores.ts"
import { failureOf } from "../../refusal.ts"
import { startVendor, type Vendor } from "./vendor.ts"

onMongo("rate limits on two nodes", ({ start, storage }) => {
  let vendor: Vendor
  let hosts: readonly TestHost[]
  before(async () => {
    const env = await storage()
    vendor = await startVendor({ env }, { rate_limits: [{ requests: 20, per_seconds: 600 }] })
    hosts = [vendor.host, await start({ env: { ...vendor.settings, ...env }, dataDir: vendor.host.dataDir })]
    for (const name of ["Both", "Asked"]) {
      const input = { app: "vendor", name, credentials: { api_key: "SECRET" }, share_with_org: true }
      expect((await vendor.host.api("POST", "/v1/integrations-connect", input)).status).to.equal(200)
    }
  })
  after(() => vendor.close())
  beforeEach(() => {
    vendor.peer.asked.length = 0
  })
  const callOn = (host: TestHost, ref: string) =>
    host.get(Integrations).call(vendor.host.organization.id, ref, { method: "GET", path: "/me" })

  it("hold for both together", async () => {
    const outcomes = await Promise.allSettled(hosts.flatMap((host) => Array.from({ length: 40 }, () => callOn(host, "both"))))
    const refused = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason.details.reason] : []))
    expect([vendor.peer.asked.length, new Set(refused)]).to.deep.equal([20, new Set(["app_rate_limited"])])
  })

  it("and what the vendor asked one of them, the other heeds", async () => {
    const [first, second] = hosts as [TestHost, TestHost]
    vendor.answer("limited")
    expect((await callOn(first, "asked")).status).to.equal(429)
    vendor.answer("good")
    expect((await failureOf(callOn(second, "asked"))).details).to.include({ reason: "app_asked_to_wait" })
    expect(vendor.peer.asked).to.have.length(1)
  })
})
