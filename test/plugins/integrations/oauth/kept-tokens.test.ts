// Tokens of a refresh during other events: a refusal by another node, a disconnect, a stop of the service, and a server without
// knowledge of its latest token.
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import { type Sealed, Store, UnitsOfWork } from "#core"
import { failureOf } from "../../../refusal.ts"
import { until } from "../../../waiting.ts"
import { collectionNamed } from "../../collection-named.ts"
import { type Handler, json } from "./vendor-server.ts"
import { startVendorService, type VendorService, vendorDocument } from "./vendor-service.ts"

const hourMs = 3_600_000

describe("tokens of a refresh that is crossed", () => {
  let service: VendorService
  let dataDir: string
  before(async () => {
    dataDir = mkdtempSync(join(tmpdir(), "millrace-kept-"))
    service = await startVendorService((origin) => [vendorDocument("vendor", origin)], { dataDir })
  })
  after(async () => {
    await service.stop()
    rmSync(dataDir, { recursive: true, force: true })
  })
  beforeEach(() => {
    service.vendor.on.clear()
    service.vendor.asked.length = 0
  })

  const grantOf = async (id: string) => {
    const grant = await service.host
      .get(Store)
      .open(collectionNamed<{ generation: number; tokens: Sealed }>(service.host, "integration_oauth_grants"), service.host.organization.id)
      .get(id)
    if (!grant) throw new Error("There is no grant.")
    return grant
  }
  const connected = async (name: string) => {
    const { integration_id: id = "" } = await service.connect("vendor", name)
    service.vendor.asked.length = 0
    service.host.clock.move(hourMs)
    return id
  }
  /** Delays token requests until `answer` is called. Then the vendor answers, or `how` if set. */
  const hold = (how?: Handler) => {
    const reached = Promise.withResolvers<void>()
    const let_go = Promise.withResolvers<void>()
    service.vendor.on.set("/token", (request, response) => {
      reached.resolve()
      void let_go.promise.then(() => (how ?? service.vendor.does)(request, response))
    })
    return { reached: reached.promise, answer: let_go.resolve }
  }

  it("waits for a server that takes 30 s, with one request", async () => {
    const id = await connected("Slow")
    const { reached, answer } = hold()
    const calls = [service.call(id), service.call(id)]
    await reached
    service.host.clock.move(30_000)
    calls.push(service.call(id))
    answer()
    expect((await Promise.all(calls)).map(({ status }) => status)).to.deep.equal([200, 200, 200])
    expect(service.vendor.at("/token")).to.have.length(1)
    expect((await grantOf(id)).generation).to.equal(2)
  })

  it("tries the refresh token before the last where the server does not know the last, and goes on with what works", async () => {
    const id = await connected("Forgotten")
    await service.call(id)
    const refused: string[] = []
    service.host.clock.move(hourMs)
    const last = service.vendor.at("/token").length
    service.vendor.on.set("/token", (request, response) => {
      const token = request.form.get("refresh_token") ?? ""
      if (refused.length > 0) return service.vendor.does(request, response)
      refused.push(token)
      json(response, 400, { error: "invalid_grant" })
    })
    expect((await service.call(id)).status).to.equal(200)
    const [first, second] = service.vendor.at("/token").slice(last)
    expect(first?.form.get("refresh_token")).to.equal(refused[0])
    expect(second?.form.get("refresh_token")).to.equal(service.vendor.at("/token")[0]?.form.get("refresh_token"))
    expect(await service.statusOf(id)).to.equal("connected")
    service.host.clock.move(hourMs)
    expect((await service.call(id)).status).to.equal(200)
    expect(service.vendor.at("/token").at(-1)?.form.get("refresh_token")).not.to.equal(refused[0])
  })

  it("keeps the tokens of a refresh that another node took for refused meanwhile", async () => {
    const id = await connected("Marked")
    const { reached, answer } = hold()
    const call = service.call(id)
    await reached
    const refused_at = new Date(service.host.clock.now()).toISOString()
    await service.host.get(UnitsOfWork).run((work) => {
      work
        .in(collectionNamed<{ generation: number; tokens: Sealed }>(service.host, "integration_oauth_grants"), service.host.organization.id)
        .update(id, { $set: { refused_at } })
      work
        .in(collectionNamed(service.host, "integrations"), service.host.organization.id)
        .update(id, { $set: { status: "authorization_expired" } })
    })
    answer()
    expect((await call).status).to.equal(200)
    expect(await grantOf(id)).to.include({ generation: 2, refused_at: null })
    expect(await service.statusOf(id)).to.equal("connected")
  })

  it("uses the tokens that were written first, where its own come too late", async () => {
    const id = await connected("Late")
    const before = await grantOf(id)
    const { reached, answer } = hold()
    const call = service.call(id)
    await reached
    const expires_at = new Date(service.host.clock.now() + hourMs).toISOString()
    await service.host.get(UnitsOfWork).run((work) => {
      work
        .in(collectionNamed<{ generation: number; tokens: Sealed }>(service.host, "integration_oauth_grants"), service.host.organization.id)
        .update(id, { $set: { generation: 2, expires_at } })
    })
    answer()
    expect((await call).status).to.equal(200)
    expect(await grantOf(id)).to.deep.include({ generation: 2, tokens: before.tokens })
    expect(service.host.logged.join("\n")).to.include("other tokens were written during a refresh")
  })

  it("revokes the tokens of a refresh that was in progress at a disconnect", async () => {
    const id = await connected("Disconnected")
    const fresh = { access_token: "FRESH-ACCESS-0123456789", refresh_token: "FRESH-REFRESH-0123456789" }
    const { reached, answer } = hold((_, response) => json(response, 200, { ...fresh, token_type: "bearer" }))
    const call = failureOf(service.call(id))
    await reached
    expect((await service.host.api("DELETE", `/v1/integrations/${id}`)).status).to.equal(200)
    answer()
    expect((await call).details).to.include({ reason: "integration_unusable" })
    const revoked = () => service.vendor.at("/revoke").map(({ form }) => form.get("token") ?? "")
    await until("all four tokens being revoked", () => revoked().length === 4)
    expect(revoked()).to.include.members(Object.values(fresh))
    expect(service.host.logged.join("\n")).not.to.match(/FRESH-|ACCESS-TOKEN|REFRESH-TOKEN/)
    expect(service.vendor.at("/v3/contacts")).to.deep.equal([])
  })

  it("writes what a server answers while the service stops", async () => {
    const id = await connected("Stopping")
    const { reached, answer } = hold()
    const call = service.call(id).catch(() => undefined)
    await reached
    const stopped = service.host.stop()
    answer()
    await Promise.all([stopped, call])
    const again = await startVendorService((origin) => [vendorDocument("vendor", origin)], { dataDir })
    const stored = await again.host
      .get(Store)
      .open(collectionNamed<{ generation: number; tokens: Sealed }>(again.host, "integration_oauth_grants"), again.host.organization.id)
      .get(id)
    await again.stop()
    expect(stored?.generation).to.equal(2)
  })
})
