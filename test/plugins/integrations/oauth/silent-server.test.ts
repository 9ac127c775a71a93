// An authorization server that accepts a refresh and never answers.
import { expect } from "chai"
import { Integrations } from "../../../../plugins/agents/integrations/index.ts"
import { failureOf } from "../../../refusal.ts"
import { until } from "../../../waiting.ts"
import { startVendorService, type VendorService, vendorDocument } from "./vendor-service.ts"

interface Connection {
  readonly health: { readonly status: string; readonly reason: string; readonly message: string }
}

describe("a refresh that the authorization server does not answer", () => {
  let service: VendorService
  before(async () => {
    service = await startVendorService((origin) => ["silent", "other"].map((slug) => vendorDocument(slug, origin)))
    service.vendor.told = { expires_in: 3_600 }
    await service.connect("silent")
    service.vendor.told = { expires_in: 100_000 }
    await service.connect("other")
  })
  after(() => service.stop())
  const callByJob = (ref: string) => {
    const request = { method: "GET", path: "/contacts" } as const
    return service.host.get(Integrations).call(service.host.organization.id, ref, request, { comesAgain: true })
  }
  const healthOf = async (ref: string) => (await service.host.api<Connection>("GET", `/v1/integrations/${ref}`)).body.health
  const refreshes = () => service.vendor.at("/token").filter(({ form }) => form.get("grant_type") === "refresh_token").length

  it("lets jobs go after 5 s, to come again, and tells the connection's health", async () => {
    const { host, vendor } = service
    vendor.on.set("/token", () => undefined)
    host.clock.move(4_000_000)
    const calls = Array.from({ length: 60 }, () => failureOf(callByJob("silent")))
    await until(() => refreshes() === 1)
    expect((await service.call("other")).status).to.equal(200)
    // Some calls may start to wait only now.
    const ended = Promise.all(calls)
    let isDone = false
    void ended.then(() => {
      isDone = true
    })
    await until("all calls to be let go", () => {
      if (!isDone && refreshes() === 1) host.clock.move(1_000)
      return isDone
    })
    for (const { details } of await ended) expect(["oauth_refresh_busy", "timeout"]).to.include(details?.["reason"])
    host.clock.move(60_000)
    await until("the health", async () => (await healthOf("silent")).status === "failing")
    expect(await healthOf("silent")).to.include({ reason: "authorization_server_silent" })
    expect((await healthOf("silent")).message).to.include("Check the authorization server")
    vendor.on.delete("/token")
    await until("a call", async () => {
      host.clock.move(1_000)
      return service.call("silent").then(
        ({ status }) => status === 200,
        () => false,
      )
    })
    expect(await healthOf("silent")).to.include({ status: "unknown", reason: "" })
  })
})
