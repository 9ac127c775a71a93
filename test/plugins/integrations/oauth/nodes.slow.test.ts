// Two nodes that call with the tokens of one connection: one refresh by either node, and no node's write reverts the other's.
import { expect } from "chai"
import { Store } from "#core"
import type { TestHost } from "#core/testing"
import { Integrations } from "../../../../plugins/agents/integrations/index.ts"
import { onMongo } from "../../../pipeline/stores.ts"
import { collectionNamed } from "../../collection-named.ts"
import { type OAuthService, startOAuth } from "./service.ts"

const hourMs = 3_600_000

for (const rotates of [false, true]) {
  onMongo(`tokens on two nodes, of a server that ${rotates ? "rotates" : "keeps"} refresh tokens`, ({ start, storage }) => {
    let service: OAuthService
    let hosts: readonly [TestHost, TestHost]
    before(async () => {
      const env = await storage()
      service = await startOAuth({ rotates }, { env })
      hosts = [service.host, await start({ env: { ...service.settings, ...env }, dataDir: service.host.dataDir })]
    })
    after(() => service.stop())
    beforeEach(() => {
      service.server.asked.length = 0
      service.server.calls.length = 0
    })

    const callOn = (host: TestHost, ref: string) =>
      host.get(Integrations).call(service.host.organization.id, ref, { method: "GET", path: "/contacts" })
    const callsOnBoth = async (ref: string, callsEach: number) =>
      (await Promise.all(hosts.flatMap((host) => Array.from({ length: callsEach }, () => callOn(host, ref))))).map(({ status }) => status)
    const move = (ms: number) => {
      for (const { clock } of hosts) clock.move(ms)
    }
    /** Moves wall time without running timers: a stalled node runs its timers late. */
    const setOn = (ms: number) => {
      const at = hosts[0].clock.now() + ms
      for (const { clock } of hosts) clock.set(at)
    }
    const generationOf = async (id: string) =>
      (
        await service.host
          .get(Store)
          .open(
            collectionNamed<{ generation: number; tokens: unknown }>(service.host, "integration_oauth_grants"),
            service.host.organization.id,
          )
          .get(id)
      )?.generation

    it("is refreshed once where its time is over for 50 calls", async () => {
      const id = await service.connected("Over")
      for (const generation of [2, 3]) {
        service.server.asked.length = 0
        move(hourMs)
        expect(new Set(await callsOnBoth("over", 25))).to.deep.equal(new Set([200]))
        expect([service.server.refreshes(), await generationOf(id)]).to.deep.equal([1, generation])
      }
    })

    it("is refreshed once where it ends in the middle of 50 calls", async () => {
      const id = await service.connected("Middle")
      move(20_000)
      let highestCount = 0
      service.server.onCall = async () => {
        if (++highestCount === 20) await service.server.endAccessTokens()
      }
      expect(new Set(await callsOnBoth("middle", 25))).to.deep.equal(new Set([200]))
      service.server.onCall = async () => undefined
      expect(service.server.calls.filter((status) => status === 401)).to.have.length.above(0)
      expect([service.server.refreshes(), await generationOf(id)]).to.deep.equal([1, 2])
    })

    it("is written by one of two nodes where the other stalls for longer than its lease", async () => {
      const id = await service.connected("Stalled")
      const [first, second] = hosts
      move(hourMs)
      const [reached, completion] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      service.server.before = async () => {
        reached.resolve()
        await completion.promise
      }
      const late = callOn(first, "stalled")
      await reached.promise
      service.server.before = async () => undefined
      setOn(120_000)
      expect((await callOn(second, "stalled")).status).to.equal(200)
      const output = await service.host
        .get(Store)
        .open(
          collectionNamed<{ generation: number; tokens: unknown }>(service.host, "integration_oauth_grants"),
          service.host.organization.id,
        )
        .get(id)
      expect(output?.generation).to.equal(2)
      completion.resolve()
      if (rotates) {
        // The server treats the second use of the old refresh token as theft, and ends the grant.
        expect((await late).status).to.equal(401)
      } else expect((await late).status).to.equal(200)
      const after = await service.host
        .get(Store)
        .open(
          collectionNamed<{ generation: number; tokens: unknown }>(service.host, "integration_oauth_grants"),
          service.host.organization.id,
        )
        .get(id)
      expect(after?.tokens).to.deep.equal(output?.tokens)
      expect(service.server.refreshes()).to.equal(2)
    })
  })
}
