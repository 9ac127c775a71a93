// Expiring access tokens: refreshed once, by one node, without losing a grant.
import { expect } from "chai"
import { Store, timestamp, UnitsOfWork } from "#core"
import { leases } from "../../../../core/cluster/collections.ts"
import { failureOf } from "../../../refusal.ts"
import { until as waitUntil } from "../../../waiting.ts"
import { collectionNamed } from "../../collection-named.ts"
import { type OAuthService, startOAuth } from "./service.ts"

const hourMs = 3_600_000

interface Shown {
  readonly authorization_error: { readonly reason: string } | null
}

for (const rotates of [false, true]) {
  describe(`tokens of integrations, of a server that ${rotates ? "rotates" : "keeps"} refresh tokens`, () => {
    let service: OAuthService
    before(async () => {
      service = await startOAuth({ rotates })
    })
    after(() => service.stop())
    beforeEach(() => {
      service.server.asked.length = 0
      service.server.calls.length = 0
    })
    const grantOf = async (id: string) =>
      await service.host
        .get(Store)
        .open(
          collectionNamed<{ generation: number; tokens: unknown }>(service.host, "integration_oauth_grants"),
          service.host.organization.id,
        )
        .get(id)

    const healthOf = async (id: string) => (await service.host.api<{ health: object }>("GET", `/v1/integrations/${id}`)).body.health

    it("refreshes once for 50 calls at the time when a token ends, and again at the next end", async () => {
      const id = await service.connected("Busy")
      for (const generation of [2, 3]) {
        service.server.asked.length = 0
        service.host.clock.move(hourMs)
        const answers = await Promise.all(Array.from({ length: 50 }, () => service.call("busy")))
        expect(new Set(answers.map(({ status }) => status))).to.deep.equal(new Set([200]))
        expect(service.server.refreshes()).to.equal(1)
        expect((await grantOf(id))?.generation).to.equal(generation)
      }
    })

    it("refreshes once where the API answers 401 to a token that had not ended", async () => {
      await service.connected("Revoked token")
      await service.server.endAccessTokens()
      service.host.clock.move(20_000)
      // All requests arrive before the first answer.
      let requestCount = 0
      const all = Promise.withResolvers<void>()
      service.server.onCall = async () => {
        if (++requestCount === 10) all.resolve()
        await all.promise
      }
      const answers = await Promise.all(Array.from({ length: 10 }, () => service.call("revoked-token")))
      service.server.onCall = async () => undefined
      expect(new Set(answers.map(({ status }) => status))).to.deep.equal(new Set([200]))
      expect(service.server.refreshes()).to.equal(1)
      expect(service.server.calls.filter((status) => status === 401)).to.have.lengthOf(10)
    })

    it("revokes the tokens when it is disconnected", async () => {
      const id = await service.connected("Revoked")
      const revoked = Promise.withResolvers<string>()
      service.server.provider.once("refresh_token.destroyed", () => revoked.resolve("refresh_token"))
      service.server.provider.once("grant.revoked", () => revoked.resolve("grant"))
      expect((await service.host.api("DELETE", `/v1/integrations/${id}`)).status).to.equal(200)
      expect(await grantOf(id)).to.equal(undefined)
      await revoked.promise
    })

    it("says that an authorization has ended, asks no more for it, and deletes nothing", async () => {
      const id = await service.connected("Ended")
      const before = await grantOf(id)
      await service.server.endEverything()
      service.host.clock.move(hourMs)
      expect((await failureOf(service.call("ended"))).details).to.include({ reason: "oauth_expired", retryable: false })
      const requestCount = service.server.refreshes()
      expect((await failureOf(service.call("ended"))).details).to.include({ reason: "oauth_expired" })
      expect(service.server.refreshes()).to.equal(requestCount)
      expect(await service.statusOf(id)).to.equal("authorization_expired")
      expect((await grantOf(id))?.tokens).to.deep.equal(before?.tokens)
      expect(await healthOf(id)).to.deep.include({ status: "failing", reason: "authorization_expired" })
      const broadcast = await waitUntil("the live message", async () => (await service.host.broadcasts("connections")).at(-1))
      expect(broadcast.data).to.deep.include({ integration_id: id, status: "failing", reason: "authorization_expired" })
      const again = await service.begin("Ended", { rotate_credentials: true })
      expect(again.integration_id).to.equal(id)
      const { browser, back } = await service.grant(again)
      await service.land(browser, back)
      expect(await service.statusOf(id)).to.equal("connected")
      expect(await healthOf(id)).to.deep.include({ status: "unknown", reason: "" })
      expect((await service.call("ended")).status).to.equal(200)
    })

    it("keeps the grant while the authorization server is down, and refreshes when it is back", async () => {
      const id = await service.connected("Down")
      service.server.fails = 503
      service.host.clock.move(hourMs - 30_000)
      expect((await service.call("down")).status, "the token is valid still").to.equal(200)
      service.host.clock.move(60_000)
      const failure = await failureOf(service.call("down"))
      expect([failure.code, failure.details?.["reason"]]).to.deep.equal(["unavailable", "oauth_server_failed"])
      expect(await service.statusOf(id)).to.equal("connected")
      service.server.fails = undefined
      expect((await service.call("down")).status).to.equal(200)
    })

    it("waits for another node's refresh, and says so where that does not end", async () => {
      const id = await service.connected("Held")
      const { host } = service
      const lease = `OAuth refresh ${id}`
      /** The other node claims the lease repeatedly. */
      const claim = () => {
        const until = timestamp(host.clock.now() + 120_000)
        const $set = { holder: "another node", until, expires_at: until }
        return host.get(UnitsOfWork).run((work) => work.in(leases).update(lease, { $set }, { upsert: true }))
      }
      host.clock.move(hourMs)
      await claim()
      let failed = false
      const failure = failureOf(service.call("held")).finally(() => {
        failed = true
      })
      await waitUntil("the refusal", async () => {
        await claim()
        host.clock.move(30_000)
        return failed
      })
      const { authorization_error } = (await host.api<Shown>("GET", `/v1/integrations/${id}`)).body
      expect(authorization_error?.reason).to.equal("oauth_refresh_busy")
      await host.get(UnitsOfWork).run((work) => work.in(leases).remove(lease, { optional: true }))
      expect((await failure).details).to.include({ reason: "oauth_refresh_busy" })
      expect(service.server.refreshes()).to.equal(0)
      expect((await grantOf(id))?.generation).to.equal(1)
      expect((await service.call("held")).status).to.equal(200)
      const healed = (await host.api<Shown>("GET", `/v1/integrations/${id}`)).body
      expect(healed.authorization_error).to.equal(null)
    })

    it("makes one request of a slow server for the calls that wait for it", async () => {
      const id = await service.connected("Slow")
      const completion = Promise.withResolvers<void>()
      const reached = Promise.withResolvers<void>()
      service.server.after = async (type) => {
        if (type !== "refresh_token") return
        reached.resolve()
        await completion.promise
      }
      service.host.clock.move(hourMs)
      const call = service.call("slow")
      await reached.promise
      const other = service.call("slow")
      completion.resolve()
      service.server.after = async () => undefined
      expect((await Promise.all([call, other])).map(({ status }) => status)).to.deep.equal([200, 200])
      expect(service.server.refreshes()).to.equal(1)
      expect((await grantOf(id))?.generation).to.equal(2)
    })
  })
}
