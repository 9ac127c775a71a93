// Connections with access through a connection broker: granted there, called with its answer, and ended there. Also failures of
// the broker.
import type { ServerResponse } from "node:http"
import { expect } from "chai"
import { failureOf } from "../../refusal.ts"
import { isFast, sampleOf } from "../../tier.ts"
import { until } from "../../waiting.ts"
import { type BrokerServer, secretKey, startBroker } from "./broker-server.ts"
import { json } from "./oauth/vendor-server.ts"
import { returnUrl, startVendorService, type VendorService, vendorDocument } from "./oauth/vendor-service.ts"

interface Begun {
  readonly integration_id: string
  readonly connect_url: string
  readonly status: string
  readonly details: { readonly reason: string }
}

interface Read {
  readonly status: string
  readonly managed_access: string
  readonly health: { readonly status: string; readonly reason: string }
}

describe("integrations by a connection broker", () => {
  let broker: BrokerServer
  let service: VendorService
  before(async () => {
    broker = await startBroker()
    service = await startVendorService(
      (origin) => [{ ...vendorDocument("brokered", origin), auth: { api_key: {}, broker: { integration: "vendor-prod" } } }],
      {
        also: [{ origin: broker.url }],
        integrations: { oauth_clients: {}, broker: { url: broker.url, secret_key: secretKey, timeout_ms: isFast ? 30_000 : 1_500 } },
      },
    )
  })
  after(async () => {
    await service.stop()
    await broker.close()
  })
  beforeEach(() => {
    broker.fails = undefined
    broker.listsAll = false
    broker.asked.length = 0
    service.vendor.on.clear()
    service.vendor.asked.length = 0
  })

  const connect = async (name: string, change: object = {}) =>
    await service.host.api<Begun>("POST", "/v1/integrations-connect", {
      app: "brokered",
      name,
      share_with_org: true,
      return_url: returnUrl,
      ...change,
    })
  const linkOf = (text: string, id: string) => new RegExp(`<a id="${id}"[^>]* href="([^"]+)"`).exec(text)?.[1] ?? ""
  const open = async ({ connect_url }: Begun) => {
    const text = await (await fetch(connect_url)).text()
    return { text, location: linkOf(text, "continue"), done: linkOf(text, "done") }
  }
  const land = async (url: string) => {
    const answer = await fetch(url, { redirect: "manual" })
    return { status: answer.status, to: answer.headers.get("location") ?? "", text: await answer.text() }
  }
  const connected = async (name: string) => {
    const { body } = await connect(name)
    const { location, done } = await open(body)
    broker.grant(location)
    expect((await land(done)).status).to.equal(303)
    broker.asked.length = 0
    return body.integration_id
  }
  const read = async (id: string) => (await service.host.api<Read>("GET", `/v1/integrations/${id}`)).body

  it("connects once the broker lists the grant, and calls with the token that it answers", async () => {
    const { body } = await connect("Main")
    expect(body.status).to.equal("pending_authorization")
    const { text, location, done } = await open(body)
    expect(text).to.include("asks for access to your account at brokered").and.not.to.include(secretKey)
    expect((await land(done)).status).to.equal(400)
    expect((await read(body.integration_id)).status).to.equal("pending_authorization")
    expect((await failureOf(service.call(body.integration_id))).details).to.include({ reason: "integration_unusable" })
    broker.grant(location)
    const { status, to } = await land(done)
    expect(status).to.equal(303)
    expect(Object.fromEntries(new URL(to).searchParams)).to.deep.equal({ status: "connected", integration_id: body.integration_id })
    expect((await read(body.integration_id)).status).to.equal("connected")
    expect((await service.call(body.integration_id)).status).to.equal(200)
    expect(service.vendor.asked.at(-1)?.authorization).to.equal("Bearer BROKERED-TOKEN-1-0123456789")
    expect((await land(done)).status, "a ticket is used once").to.equal(400)
  })

  it("takes no connection of another attempt, also of a broker that lists all of them", async () => {
    await connected("Somebody else's")
    const { body } = await connect("Taker")
    const { done } = await open(body)
    broker.listsAll = true
    expect((await land(done)).status).to.equal(400)
    expect((await read(body.integration_id)).status).to.equal("pending_authorization")
  })

  it("has the broker refresh a token that the API refuses, once", async () => {
    const id = await connected("Refused")
    service.vendor.on.set("/v3/contacts", ({ authorization }, response) => json(response, authorization.includes("fresh") ? 200 : 401, {}))
    expect((await service.call(id)).status).to.equal(200)
    service.vendor.on.set("/v3/contacts", (_, response) => json(response, 401, {}))
    expect((await service.call(id)).status).to.equal(401)
    expect(broker.asked).to.have.length(4)
  })

  it("says that access has ended, on the record and on the live channel, and is granted again in place", async () => {
    const id = await connected("Ended")
    for (const connection of broker.connections.values()) connection.refused = true
    expect((await failureOf(service.call(id))).details).to.include({ reason: "oauth_expired", retryable: false })
    const { status, health } = await read(id)
    expect([status, health.status, health.reason]).to.deep.equal(["authorization_expired", "failing", "authorization_expired"])
    const broadcast = await until("the live message", async () => (await service.host.broadcasts("connections")).at(-1))
    expect(broadcast.data).to.deep.include({ integration_id: id, reason: "authorization_expired" })
    const before = [...broker.connections.keys()].at(-1)
    const again = await connect("Ended", { rotate_credentials: true })
    expect(again.body.integration_id).to.equal(id)
    const { location, done } = await open(again.body)
    broker.grant(location)
    await land(done)
    expect((await read(id)).status).to.equal("connected")
    expect((await service.call(id)).status).to.equal(200)
    await until("the end of the connection before", () => !broker.connections.has(before ?? ""))
  })

  it("deletes the connection at the broker when it is disconnected", async () => {
    const id = await connected("Disconnected")
    const connectionId = [...broker.connections.keys()].at(-1) ?? ""
    expect((await service.host.api("DELETE", `/v1/integrations/${id}`)).status).to.equal(200)
    await until("the deletion", () => !broker.connections.has(connectionId))
  })

  it("refuses to lend it, and to take credentials beside none", async () => {
    const lent = await connect("Lent", { managed_access: "managed_organizations" })
    expect([lent.status, lent.body.details.reason]).to.deep.equal([400, "managed_access_refused"])
    const id = await connected("Private")
    const changed = await service.host.api<Begun>("PATCH", `/v1/integrations/${id}`, { managed_access: "managed_organizations" })
    expect([changed.status, changed.body.details.reason]).to.deep.equal([400, "managed_access_refused"])
  })

  it("ends the loan of credentials that a grant takes the place of", async () => {
    const native = await connect("Loan", { credentials: { api_key: "K" }, managed_access: "managed_organizations" })
    expect((await read(native.body.integration_id)).managed_access).to.equal("managed_organizations")
    const again = await connect("Loan", { rotate_credentials: true })
    const { location, done } = await open(again.body)
    expect((await read(native.body.integration_id)).managed_access).to.equal("managed_organizations")
    broker.grant(location)
    await land(done)
    expect((await read(native.body.integration_id)).managed_access).to.equal("none")
  })

  const failures: [string, (response: ServerResponse) => unknown][] = [
    ["answers 500", (response) => json(response, 500, { echo: secretKey })],
    ["refuses the secret key", (response) => json(response, 401, {})],
    ["answers malformed JSON", (response) => response.writeHead(200, { "content-type": "application/json" }).end('{"connections": [')],
    ["answers something else", (response) => json(response, 200, { data: { connect_link: "javascript:alert(1)" }, connections: 7 })],
    ["answers too much", (response) => json(response, 200, { connections: [], more: "x".repeat(1_100_000) })],
    ["closes in the middle", (response) => void response.writeHead(200, { "content-length": "99" }).write("{", () => response.destroy())],
    ["is down", (response) => response.destroy()],
  ]
  const stalls: typeof failures = [
    ["does not answer", () => undefined],
    ["stops in the middle", (response) => response.writeHead(200, { "content-length": "99" }).write("{")],
  ]
  for (const [what, how] of [...sampleOf(failures), ...(isFast ? [] : stalls)]) {
    it(`loses nothing while the broker ${what}`, async () => {
      const id = await connected(`Failing ${what}`)
      const { body } = await connect(`Beginning ${what}`)
      const { location, done } = await open(body)
      broker.grant(location)
      broker.fails = (response) => void how(response)
      expect((await fetch(body.connect_url)).status).to.equal(502)
      expect((await land(done)).status).to.equal(502)
      const { code, details } = await failureOf(service.call(id))
      expect(code).to.be.oneOf(["unavailable", "resource_exhausted", "failed_precondition", "deadline_exceeded"])
      expect(details?.["reason"]).to.not.equal("oauth_expired")
      if (what === "answers 500") expect(details).to.include({ reason: "broker_failed", server: broker.url })
      expect((await read(id)).status).to.equal("connected")
      const tested = await service.host.api<{ ok: boolean; reason: string }>("POST", `/v1/integrations/${id}/test`)
      expect([tested.status, tested.body.ok], JSON.stringify(tested.body)).to.deep.equal([200, false])
      expect((await read(id)).health.reason).to.not.equal("")
      broker.fails = undefined
      expect((await land(done)).status).to.equal(303)
      expect((await service.call(id)).status).to.equal(200)
      expect(JSON.stringify([service.host.logged, tested.body])).not.to.match(/BROKER-SECRET-KEY|BROKERED-TOKEN/)
    })
  }

  it("keeps no secret of the broker where people read", async () => {
    const { body } = await service.host.api("GET", "/v1/audit-log?limit=200")
    expect(JSON.stringify(body)).not.to.match(/BROKER-SECRET-KEY|BROKERED-TOKEN/)
    expect((await failureOf(service.host.invoke("integrations.get", { id: "none" }))).code).to.equal("not_found")
  })

  it("deletes at the broker later where that is down", async () => {
    const id = await connected("Later")
    const connectionId = [...broker.connections.keys()].at(-1) ?? ""
    broker.fails = (response) => json(response, 503, {})
    await service.host.api("DELETE", `/v1/integrations/${id}`)
    await until("the first try", () => broker.asked.some((query) => query.startsWith("DELETE")))
    broker.fails = undefined
    await until("the deletion", () => {
      service.host.clock.move(60_000)
      return !broker.connections.has(connectionId)
    })
  })
})
