// Calls without a valid credential: limits by address, and sockets restricted to a live endpoint.
import { expect } from "chai"
import { io, type Socket } from "socket.io-client"
import { testHost } from "#core/testing"
import { Buckets, LocalRateLimiter } from "../../core/cluster/local-rate-limiter.ts"
import { clientAddressReader, networkOf } from "../../core/kernel/client-address.ts"
import { systemClock } from "../../core/kernel/clock.ts"
import { SocketLimits } from "../../core/surface/live/socket-limits.ts"
import { refusalOf } from "../refusal.ts"
import { until } from "../waiting.ts"
import { orgA } from "./operations.ts"
import { call, endpoint, openSurfaceBench, type SurfaceBench } from "./surface-bench.ts"

describe("calls without a credential that holds", () => {
  let bench: SurfaceBench
  before(async () => {
    bench = await openSurfaceBench({ addressPerMinute: 5, trustProxy: ["127.0.0.0/8"] })
    bench.clock.stand()
  })
  after(() => bench.close())
  const from = (address: string) => ({ "x-forwarded-for": address })

  it("are refused beyond the limit of their address, and nobody else with them", async () => {
    const statuses: number[] = []
    for (let n = 0; n < 7; n++) statuses.push((await call(bench, "GET", "/v1/notes", { key: "nobody", headers: from("192.0.2.1") })).status)
    expect(statuses).to.deep.equal([401, 401, 401, 401, 401, 429, 429])
    const refused = await call(bench, "GET", "/openapi.json", { key: null, headers: from("192.0.2.1") })
    expect([refused.status, refused.headers.get("retry-after")]).to.deep.equal([429, "12"])
    expect(refused.json.details).to.include({ quota: "address", limit: 5 })
    expect((await call(bench, "GET", "/v1/notes", { headers: from("192.0.2.1") })).status, "a key that holds").to.equal(200)
    expect((await call(bench, "GET", "/openapi.json", { key: null, headers: from("192.0.2.2") })).status).to.equal(200)
    bench.clock.ahead += 13_000
    expect((await call(bench, "GET", "/v1/notes", { key: "nobody", headers: from("192.0.2.1") })).status).to.equal(401)
  })

  it("count one IPv6 network as one address", async () => {
    const statuses: number[] = []
    for (let n = 1; n < 8; n++)
      statuses.push((await call(bench, "GET", "/v1/notes", { key: null, headers: from(`2001:db8:1:2::${n}`) })).status)
    expect(statuses.slice(5)).to.deep.equal([429, 429])
    expect((await call(bench, "GET", "/v1/notes", { key: null, headers: from("2001:db8:1:3::1") })).status).to.equal(401)
  })
})

describe("where a request comes from", () => {
  const read = (trusted: string[], remoteAddress: string, forwarded?: string) =>
    clientAddressReader(trusted)({ headers: forwarded === undefined ? {} : { "x-forwarded-for": forwarded }, socket: { remoteAddress } })

  it("is the peer, unless a proxy that is trusted says otherwise", () => {
    expect(read([], "::ffff:192.0.2.9", "203.0.113.1")).to.equal("192.0.2.9")
    expect(read(["10.0.0.0/8"], "192.0.2.9", "203.0.113.1")).to.equal("192.0.2.9")
    expect(read(["10.0.0.0/8"], "10.1.2.3", "203.0.113.1")).to.equal("203.0.113.1")
    expect(read(["10.0.0.0/8"], "10.1.2.3")).to.equal("10.1.2.3")
  })

  it("is read from the right, so that nobody chooses their own", () => {
    expect(read(["10.0.0.0/8"], "10.1.2.3", "198.51.100.7, 203.0.113.1, 10.9.9.9")).to.equal("203.0.113.1")
    expect(read(["10.0.0.0/8"], "10.1.2.3", "198.51.100.7, nonsense")).to.equal("10.1.2.3")
    expect(read(["::1"], "::1", "[2001:db8::5]:4711")).to.equal("2001:db8::5")
    expect(() => clientAddressReader(["10.0.0.0/99"])).to.throw("server.trust_proxy")
  })

  it("counts as its /64 where it is IPv6", () => {
    expect(networkOf("2001:db8:0:1:aaaa::1")).to.equal("2001:db8:0:1::/64")
    expect(networkOf("192.0.2.1")).to.equal("192.0.2.1")
  })
})

describe("token buckets", () => {
  it("stay within their bound, for any addresses", () => {
    // With a stopped clock, since time would refill them.
    const buckets = new Buckets({ ...systemClock, monotonic: () => 0 }, 100)
    for (let n = 0; n < 1_000; n++) buckets.refilled(`address ${n}`, 10).tokens -= 1
    expect(buckets.size).to.be.at.most(100)
    expect(buckets.refilled("address 999", 10).tokens).to.be.below(10)
  })
})

describe("anonymous sockets", () => {
  let bench: SurfaceBench
  const sockets: Socket[] = []
  before(async () => {
    bench = await openSurfaceBench({ endpointOrganization: orgA.id, anonymousPerAddress: 2 })
  })
  afterEach(() => {
    bench.endpoints.active = true
    for (const socket of sockets.splice(0)) socket.close()
  })
  after(() => bench.close())

  const dial = (auth: Record<string, unknown>) => {
    const socket = io(bench.url, { path: "/live", auth, reconnection: false, forceNew: true, transports: ["websocket"] })
    sockets.push(socket)
    return new Promise<Socket | string>((resolve) => {
      socket.on("connect", () => resolve(socket))
      socket.on("connect_error", (error) => {
        const { code, details } = (error as Error & { data?: { code: string; details: { reason: string } } }).data ?? {}
        resolve(code === undefined ? error.message : `${code} ${details?.reason}`)
      })
    })
  }
  const closed = (socket: Socket | string) =>
    new Promise<void>((resolve, reject) =>
      typeof socket === "string" ? reject(new Error(socket)) : socket.on("disconnect", () => resolve()),
    )

  it("are let in for the endpoint of an active pipeline only", async () => {
    expect(await dial({ endpoint_id: `in_${"Z".repeat(22)}` })).to.equal("not_found unknown_endpoint")
    bench.endpoints.active = false
    expect(await dial({ endpoint_id: endpoint })).to.equal("not_found unknown_endpoint")
  })

  it("end when their pipeline is no longer active, and stay when another one changes", async () => {
    const [viewer, member] = [await dial({ endpoint_id: endpoint }), await dial({ token: "a-member" })]
    bench.endpoints.active = false
    await bench.endpointChanged("another-pipeline")
    expect(viewer).to.have.property("connected", true)
    const ended = closed(viewer)
    await bench.endpointChanged("the-pipeline")
    await ended
    expect(member).to.have.property("connected", true)
  })

  it("are as many as an address may hold, and make room when they leave", async () => {
    const first = await dial({ endpoint_id: endpoint })
    await dial({ endpoint_id: endpoint })
    expect(await dial({ endpoint_id: endpoint })).to.equal("resource_exhausted too_many_sockets")
    expect(await dial({ token: "a-member" })).to.have.property("connected", true)
    ;(first as Socket).close()
    const again = await until("room for another socket", async () => {
      const answer = await dial({ endpoint_id: endpoint })
      return answer !== "resource_exhausted too_many_sockets" && answer
    })
    expect(again).to.have.property("connected", true)
  })

  it("are no more on a node than it bears, wherever they come from", async () => {
    const limits = new SocketLimits({ rateLimiter: new LocalRateLimiter(systemClock), perAddress: 1_000, perKey: 1 })
    const viewer = { kind: "viewer", organization: orgA.id, endpoint, pipeline: "p" } as const
    const enter = (n: number) => limits.enter(viewer, `192.0.${n % 250}.${n % 199}`)
    const leave = await enter(0)
    for (let n = 1; n < 20_000; n++) await enter(n)
    const error = await refusalOf(enter(20_000))
    expect([error.code, error.details.reason]).to.deep.equal(["resource_exhausted", "too_many_anonymous_sockets"])
    leave()
    await enter(20_000)
  })

  it("are counted down once, however they leave", async () => {
    const limits = new SocketLimits({ rateLimiter: new LocalRateLimiter(systemClock), perAddress: 1, perKey: 1 })
    const viewer = { kind: "viewer", organization: orgA.id, endpoint, pipeline: "p" } as const
    const counter = { enter: (address: string) => limits.enter(viewer, address) }
    const refused = async () => {
      const answer = await counter.enter("192.0.2.1").catch((error: Error) => error.message)
      expect(answer).to.include("anonymous sockets already")
    }
    const leave = await counter.enter("192.0.2.1")
    await refused()
    leave()
    leave()
    await counter.enter("192.0.2.1")
    await refused()
  })
})

describe("anonymous sockets of a real pipeline", () => {
  it("come in while it is active, end when it is disabled, and stay out", async () => {
    const host = await testHost()
    const dial = (endpoint_id: string) => {
      const socket = io(host.url, { path: "/live", auth: { endpoint_id }, reconnection: false, forceNew: true, transports: ["websocket"] })
      return new Promise<Socket | string>((resolve) => {
        socket.on("connect", () => resolve(socket))
        socket.on("connect_error", (error) => {
          const { code, details } = (error as Error & { data?: { code: string; details: { reason: string } } }).data ?? {}
          resolve(code === undefined ? error.message : `${code} ${details?.reason}`)
        })
      })
    }
    try {
      const response = await host.api<{ endpoint_id: string }>("POST", "/v1/event-pipelines", {
        name: "Ticker",
        auth_mode: "none",
        pipeline: [],
      })
      const { endpoint_id } = response.body
      expect(await dial(endpoint_id), "proposed").to.equal("not_found unknown_endpoint")
      await host.api("PUT", "/v1/event-pipelines/ticker", { state: "active" })
      const socket = await dial(endpoint_id)
      if (typeof socket === "string") expect.fail(socket)
      const ended = new Promise<void>((resolve) => socket.on("disconnect", () => resolve()))
      await host.api("PUT", "/v1/event-pipelines/ticker", { state: "disabled" })
      await ended
      expect(await dial(endpoint_id), "disabled").to.equal("not_found unknown_endpoint")
    } finally {
      await host.stop()
    }
  })
})
