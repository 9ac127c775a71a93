// Requests of sockets count against the rate limit of their key, and take turns by organization.
import { expect } from "chai"
import { io, type Socket } from "socket.io-client"
import { RequestLimits } from "../../../core/surface/live/request-limits.ts"
import { orgA } from "../operations.ts"
import { call, endpoint, openSurfaceBench, type SurfaceBench } from "../surface-bench.ts"

type Acknowledgement = { ok?: true; code?: string; details?: Record<string, unknown> }

describe("requests of sockets", () => {
  let bench: SurfaceBench
  const clients: Socket[] = []
  beforeEach(async () => {
    const limits = { key_per_minute: 20, organization_per_minute: 1_000 }
    bench = await openSurfaceBench({ rateLimits: limits, addressPerMinute: 30, endpointOrganization: orgA.id })
    // With a stopped clock, no quota refills.
    bench.clock.stand()
  })
  afterEach(async () => {
    for (const socket of clients.splice(0)) socket.close()
    await bench.close()
  })

  const dial = (auth: Record<string, unknown>) => {
    const socket = io(bench.url, { path: "/live", auth, reconnection: false, forceNew: true, transports: ["websocket"] })
    clients.push(socket)
    return new Promise<Socket>((resolve, reject) => {
      socket.on("connect", () => resolve(socket))
      socket.on("connect_error", reject)
    })
  }
  const ask = (socket: Socket, event: string, n: number): Promise<Acknowledgement> => socket.emitWithAck(event, { channel: `many-${n}` })

  for (const event of ["subscribe", "unsubscribe"]) {
    it(`count ${event} as a call of the key, and are refused beyond its limit`, async () => {
      const socket = await dial({ token: "a-member" })
      const answers: Acknowledgement[] = []
      for (let n = 0; n < 25; n++) answers.push(await ask(socket, event, n))
      // The handshake is the first call.
      expect(answers.filter(({ ok }) => ok)).to.have.length(19)
      expect(answers[19]).to.deep.include({ code: "resource_exhausted" })
      expect(answers[19]?.details).to.deep.include({ reason: "rate_limited", quota: "key", limit: 20 })
      expect((await call(bench, "GET", "/v1/notes")).status).to.equal(429)
      expect((await call(bench, "GET", "/v1/notes", { key: "b-member" })).status).to.equal(200)
    })
  }

  it("count requests that do not exist, and end a socket that goes on beyond the limit", async () => {
    const socket = await dial({ token: "a-member" })
    const disconnected = new Promise((resolve) => socket.once("disconnect", resolve))
    for (let n = 0; n < 200; n++) socket.emit("anything", n)
    expect(await disconnected).to.equal("io server disconnect")
    expect((await call(bench, "GET", "/v1/notes")).status).to.equal(429)
  })

  it("count handshakes of a key", async () => {
    for (let n = 0; n < 20; n++) (await dial({ token: "a-member" })).close()
    const refused = await dial({ token: "a-member" }).then(
      () => undefined,
      (error: { data?: Acknowledgement }) => error.data,
    )
    expect(refused?.details).to.deep.include({ reason: "rate_limited", quota: "key" })
    expect((await dial({ token: "b-member" })).connected).to.equal(true)
  })

  it("of viewers count against their address", async () => {
    const socket = await dial({ endpoint_id: endpoint })
    const answers: Acknowledgement[] = []
    for (let n = 0; n < 40; n++) answers.push(await ask(socket, n % 2 === 0 ? "subscribe" : "unsubscribe", n))
    expect(answers.filter(({ ok }) => ok)).to.have.length(29)
    expect(answers.at(-1)?.details).to.deep.include({ reason: "rate_limited", quota: "address" })
  })

  it("run in turn by organization", async () => {
    const unlimited = { take: async () => ({ quotas: [], refusal: undefined }) }
    const limits = new RequestLimits({ rateLimits: unlimited as never })
    const order: string[] = []
    const run = (endpointOrganization: string) =>
      limits.inTurn({ kind: "viewer", organization: endpointOrganization, endpoint: "", pipeline: "" }, async () => {
        await new Promise((resolve) => setImmediate(resolve))
        order.push(endpointOrganization)
      })
    await Promise.all([...Array.from({ length: 300 }, () => run("loud")), run("quiet")])
    expect(order.indexOf("quiet")).to.be.below(20)
    const shaken: string[] = []
    const shake = (token: string) =>
      limits.handshake({ token }, "192.0.2.1", async () => {
        await new Promise((resolve) => setImmediate(resolve))
        shaken.push(token)
      })
    await Promise.all([...Array.from({ length: 300 }, () => shake("loud")), shake("quiet")])
    expect(shaken.indexOf("quiet")).to.be.below(20)
  })
})
