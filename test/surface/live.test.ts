// Live updates through real sockets: recipients, order, catch-up, and walls between organizations.
import { expect } from "chai"
import { io, type Socket } from "socket.io-client"
import { defineChannel, type LiveMessage } from "../../core/contract/channel.ts"
import { allKeys } from "../../core/contract/cluster.ts"
import type { Json } from "../../core/contract/collection.ts"
import { StagedWork } from "../../core/contract/unit-of-work.ts"
import { LiveMessages, LiveOutboxes, type WireMessage } from "../../core/surface/live/messages.ts"
import { type Deliver, Outbox } from "../../core/surface/live/outbox.ts"
import { refusalOf } from "../refusal.ts"
import { until } from "../waiting.ts"
import { orgA, orgB } from "./operations.ts"
import { endpoint, openSurfaceBench, type SurfaceBench } from "./surface-bench.ts"

type Acknowledgement = { ok?: true; truncated?: true; code?: string; details?: Record<string, unknown> }

class Client {
  readonly messages: WireMessage[] = []
  readonly socket: Socket

  constructor(socket: Socket) {
    this.socket = socket
    socket.on("message", (message: WireMessage) => this.messages.push(message))
  }

  get data(): Json[] {
    return this.messages.map(({ data }) => data)
  }

  subscribe(channel: unknown, after?: string): Promise<Acknowledgement> {
    return this.socket.emitWithAck("subscribe", after === undefined ? { channel } : { channel, after })
  }

  /** Resolves once this many messages have arrived. */
  async received(count: number): Promise<void> {
    while (this.messages.length < count) await new Promise((resolve) => this.socket.once("message", resolve))
  }
}

describe("live updates", () => {
  let bench: SurfaceBench
  const clients: Socket[] = []
  before(async () => {
    const channels = [
      defineChannel({ name: "executions", summary: "Executions.", scope: "event_pipelines:read", role: "guest" }),
      defineChannel({ name: "datasets:*", summary: "Rows of a dataset.", scope: "datasets:read" }),
    ]
    bench = await openSurfaceBench({ channels, keepMessages: 20, endpointOrganization: orgA.id })
    // The catch-up covers ten seconds, independent of the test's duration.
    bench.clock.stand()
  })
  afterEach(() => {
    for (const socket of clients.splice(0)) socket.close()
  })
  after(() => bench.close())

  const dial = (auth: Record<string, unknown>) => {
    const socket = io(bench.url, { path: "/live", auth, reconnection: false, forceNew: true, transports: ["websocket"] })
    clients.push(socket)
    return new Promise<Client>((resolve, reject) => {
      const client = new Client(socket)
      socket.on("connect", () => resolve(client))
      socket.on("connect_error", reject)
    })
  }
  const refusal = async (auth: Record<string, unknown>) => {
    try {
      await dial(auth)
    } catch (error) {
      const { code, details } = (error as { data?: { code: string; details: { reason: string } } }).data ?? {}
      return `${code} ${details?.reason}`
    }
    return "connected"
  }
  const tell = (organization: string, message: Partial<LiveMessage> & { data: Json }, id?: string) =>
    bench.works.run((work) => bench.live.live.stage(work, organization, { channel: "leads", event: "lead", ...message }, id))

  it("connect with a token of the right scope only", async () => {
    expect(await refusal({})).to.equal("unauthenticated missing_credential")
    expect(await refusal({ token: "a.viewers.token" })).to.equal("unauthenticated viewer_token")
    expect(await refusal({ token: "nobody" })).to.equal("unauthenticated invalid_credential")
    expect(await refusal({ token: "a-reader" })).to.equal("permission_denied missing_scope")
    expect(await refusal({ endpoint_id: "in_short" })).to.equal("invalid_argument invalid_handshake")
    expect(await refusal({ token: "a-live", organization: 7 })).to.equal("invalid_argument invalid_handshake")
    expect(await refusal({ endpoint_id: `in_${"Z".repeat(22)}` })).to.equal("not_found unknown_endpoint")
    expect(await refusal({ token: "a-live" })).to.equal("connected")
    expect(await refusal({ token: "a-member" })).to.equal("connected")
  })

  it("reach subscribers of the channel in order, and nobody of another organization or channel", async () => {
    const [mine, other, foreign] = await Promise.all([
      dial({ token: "a-member" }),
      dial({ token: "a-member" }),
      dial({ token: "b-member" }),
    ])
    expect(await mine.subscribe("leads")).to.deep.equal({ ok: true })
    expect(await other.subscribe("orders")).to.deep.equal({ ok: true })
    expect(await foreign.subscribe("leads")).to.deep.equal({ ok: true })
    const id = await tell(orgA.id, { data: { n: 1 } })
    await tell(orgA.id, { data: { n: 2 } })
    await tell(orgB.id, { data: { n: 3 } })
    await tell(orgA.id, { channel: "orders", data: { n: 4 } })
    await Promise.all([mine.received(2), foreign.received(1), other.received(1)])
    expect(mine.messages[0]).to.deep.include({ id, channel: "leads", event: "lead", data: { n: 1 } })
    expect(mine.messages[0]?.at).to.match(/^\d{4}-.*Z$/)
    expect(Object.keys(mine.messages[0] ?? {})).to.have.members(["id", "channel", "event", "data", "at"])
    expect(mine.data).to.deep.equal([{ n: 1 }, { n: 2 }])
    expect(foreign.data).to.deep.equal([{ n: 3 }])
    expect(other.data).to.deep.equal([{ n: 4 }])
  })

  it("stop with unsubscribe, and are never sent for a commit that failed", async () => {
    const client = await dial({ token: "a-member" })
    await client.subscribe("leads")
    const work = new StagedWork(bench.ids.uuid())
    bench.live.live.stage(work, orgA.id, { channel: "leads", event: "lead", data: "never" })
    work.in(LiveMessages, orgA.id).remove("there is no such id")
    await bench.store.commit(work.commit).then(
      () => expect.fail("the commit went through"),
      () => undefined,
    )
    await tell(orgA.id, { data: "after" })
    await client.received(1)
    expect(client.data).to.deep.equal(["after"])
    expect(await client.socket.emitWithAck("unsubscribe", { channel: "leads" })).to.deep.equal({ ok: true })
    await tell(orgA.id, { data: "unheard" })
    await client.subscribe("orders")
    await tell(orgA.id, { channel: "orders", data: "heard" })
    await client.received(2)
    expect(client.data).to.deep.equal(["after", "heard"])
  })

  it("refuse a channel beyond the hundredth of a socket, which goes on with those that it has", async () => {
    const client = await dial({ token: "a-member" })
    for (let n = 1; n <= 100; n++) expect(await client.subscribe(`many-${n}`)).to.deep.equal({ ok: true })
    const refused = await client.subscribe("many-101")
    expect([refused.code, refused.details?.["reason"]]).to.deep.equal(["resource_exhausted", "too_many_channels"])
    expect(await client.subscribe("many-100"), "one that it holds").to.deep.equal({ ok: true })
    await client.socket.emitWithAck("unsubscribe", { channel: "many-1" })
    expect(await client.subscribe("many-101"), "after one was left").to.deep.equal({ ok: true })
    await tell(orgA.id, { channel: "many-1", data: "unheard" })
    await tell(orgA.id, { channel: "many-101", data: "heard" })
    await client.received(1)
    expect(client.data).to.deep.equal(["heard"])
  })

  it("refuse requests of a socket beyond twenty that wait, and serve those in turn", async () => {
    const client = await dial({ token: "a-member" })
    const answers = await Promise.all(Array.from({ length: 60 }, (_, n) => client.subscribe(`waiting-${n}`, bench.ids.uuid())))
    const refused = answers.filter(({ code }) => code !== undefined)
    expect(refused).to.have.length.within(1, 40)
    for (const { code, details } of refused) expect([code, details?.["reason"]]).to.deep.equal(["resource_exhausted", "too_many_waiting"])
    expect(answers.slice(0, 20).map(({ ok }) => ok)).to.deep.equal(Array(20).fill(true))
    expect(await client.subscribe("waiting-59")).to.deep.equal({ ok: true })
  })

  it("keep the service's own channels from those who have no credential, and say so", async () => {
    const anyone = await dial({ endpoint_id: endpoint })
    for (const channel of ["executions", "datasets:leads"]) {
      const { code, details } = await anyone.subscribe(channel)
      expect([channel, code, details?.["reason"]]).to.deep.equal([channel, "permission_denied", "reserved_channel"])
    }
    const member = await dial({ token: "a-member" })
    const { code, details } = await member.subscribe("executions:made-up")
    expect([code, details?.["reason"]]).to.deep.equal(["not_found", "channel_not_found"])
  })

  it("are refused for what is not the name of a channel", async () => {
    const error = await refusalOf(tell(orgA.id, { channel: "a b", data: 1 }))
    expect([error.code, error.details.reason]).to.deep.equal(["invalid_argument", "invalid_channel"])
  })

  it("answer a request that says nothing, or more than they read", async () => {
    const client = await dial({ token: "a-member" })
    const { socket } = client
    for (const request of ["subscribe", "unsubscribe"]) {
      const { code, details } = (await socket.emitWithAck(request)) as Acknowledgement
      expect([code, details?.["reason"]]).to.deep.equal(["invalid_argument", "invalid_fields"])
      expect(await socket.emitWithAck(request, { channel: "leads" }, "more")).to.deep.equal({ ok: true })
      socket.emit(request)
    }
    // Acknowledgements are optional for clients.
    socket.emit("subscribe", { channel: "unanswered" })
    expect(await client.subscribe("orders")).to.deep.equal({ ok: true })
    await tell(orgA.id, { channel: "unanswered", data: "heard" })
    await client.received(1)
    expect(client.data).to.deep.equal(["heard"])
  })

  it("are sent once when the same message is committed again", async () => {
    const client = await dial({ token: "a-member" })
    await client.subscribe("again")
    const id = bench.ids.uuid()
    for (const data of ["once", "once"]) await tell(orgA.id, { channel: "again", data }, id)
    await tell(orgA.id, { channel: "again", data: "end" })
    await client.received(2)
    expect(client.data).to.deep.equal(["once", "end"])
  })

  it("catch up from an id, oldest first, then go on live", async () => {
    const ids: string[] = []
    for (let n = 0; n < 5; n++) ids.push(await tell(orgA.id, { channel: "resume", data: n }))
    const client = await dial({ token: "a-member" })
    expect(await client.subscribe("resume", ids[1] ?? "")).to.deep.equal({ ok: true })
    await tell(orgA.id, { channel: "resume", data: 5 })
    await client.received(5)
    // From 10 s before the id, without the id itself. This includes late commits of another node.
    expect(client.data).to.deep.equal([0, 2, 3, 4, 5])
    const foreign = await dial({ token: "b-member" })
    expect(await foreign.subscribe("resume", ids[1] ?? "")).to.deep.equal({ ok: true })
    expect(await foreign.subscribe("resume", "not an id")).to.deep.include({ code: "invalid_argument" })
    expect(foreign.messages).to.deep.equal([])
  })

  it("keep the newest of a channel, and say when more was missed", async () => {
    const first = await tell(orgA.id, { channel: "busy", data: -1 })
    for (let n = 0; n < 45; n++) await tell(orgA.id, { channel: "busy", data: n })
    const client = await dial({ token: "a-member" })
    expect(await client.subscribe("busy", first)).to.deep.equal({ ok: true, truncated: true })
    expect(client.data).to.deep.equal(Array.from({ length: 20 }, (_, n) => n + 25))
    const storedCount = () => bench.store.open(LiveMessages, orgA.id).count({ room: "c:busy" })
    await until("no more being kept than twice the newest", async () => (await storedCount()) <= 40)
    expect(await storedCount()).to.be.at.least(20)
  })

  it("leave the service's own names to the service, and what holds payloads to members", async () => {
    const [member, guest] = await Promise.all([dial({ token: "a-member" }), dial({ token: "a-guest" })])
    expect(await guest.subscribe("executions")).to.deep.equal({ ok: true })
    expect(await member.subscribe("datasets:leads")).to.deep.equal({ ok: true })
    expect(await member.subscribe("datasets:leads:rows")).to.deep.include({ code: "not_found" })
    expect(await member.subscribe("executions:x")).to.deep.include({ code: "not_found" })
    expect(await guest.subscribe("datasets:leads")).to.deep.include({ code: "permission_denied" })
    expect(await guest.subscribe("leads")).to.deep.include({ code: "permission_denied" })
    for (const bad of ["", "a b", ":x", "x".repeat(101), 7])
      expect(await member.subscribe(bad)).to.deep.include({ code: "invalid_argument" })
    await tell(orgA.id, { channel: "executions", data: "run" })
    await guest.received(1)
    expect(member.messages).to.deep.equal([])
  })

  it("show anonymous viewers the public messages of their endpoint, and nothing else", async () => {
    const [viewer, member] = await Promise.all([dial({ endpoint_id: endpoint }), dial({ token: "a-member" })])
    expect(await viewer.subscribe("ticker")).to.deep.equal({ ok: true })
    await member.subscribe("ticker")
    expect(await viewer.subscribe("executions")).to.deep.include({ code: "permission_denied" })
    await tell(orgA.id, { channel: "ticker", data: "private" })
    const id = await tell(orgA.id, { channel: "ticker", data: "other endpoint", publicEndpoint: `in_${"B".repeat(22)}` })
    await tell(orgA.id, { channel: "ticker", data: "public", publicEndpoint: endpoint })
    await Promise.all([viewer.received(1), member.received(1)])
    expect(viewer.data).to.deep.equal(["public"])
    expect(member.data).to.deep.equal(["private"])
    const late = await dial({ endpoint_id: endpoint })
    expect(await late.subscribe("ticker", id)).to.deep.equal({ ok: true })
    expect(late.data).to.deep.equal(["public"])
  })

  it("end for a credential that was revoked, by its id, by the id in its text or by a general drop, and for no other", async () => {
    const other = await dial({ token: "a-member" })
    for (const [token, change] of [
      ["a-doomed", "a-doomed"],
      ["mr_api_PUBLICID_secret", "PUBLICID"],
      ["a-dropped", allKeys],
    ] as const) {
      bench.keys.all.set(token, { organization: orgA, role: "member" })
      const doomed = await dial({ token })
      const disconnected = new Promise((resolve) => doomed.socket.once("disconnect", resolve))
      bench.keys.all.delete(token)
      await bench.credentialChanged(change)
      expect(await disconnected).to.equal("io server disconnect")
      expect(other.socket.connected).to.equal(true)
      expect(await refusal({ token })).to.equal("unauthenticated invalid_credential")
    }
  })

  it("end for a credential that ran out, or acts with another role now", async () => {
    for (const key of ["a-short", "a-lowered"]) bench.keys.all.set(key, { organization: orgA, role: "member" })
    const [short, lowered, other] = await Promise.all([
      dial({ token: "a-short" }),
      dial({ token: "a-lowered" }),
      dial({ token: "a-member" }),
    ])
    const disconnected = Promise.all([short, lowered].map((client) => new Promise((resolve) => client.socket.once("disconnect", resolve))))
    bench.keys.all.delete("a-short")
    bench.keys.all.set("a-lowered", { organization: orgA, role: "guest" })
    await bench.live.recheck()
    await disconnected
    expect(other.socket.connected).to.equal(true)
  })
})

describe("live updates of a node that died", () => {
  let bench: SurfaceBench
  before(async () => {
    bench = await openSurfaceBench()
    // Its own periodic check for dead nodes could otherwise run first.
    await bench.live.stop()
    bench.clock.stand()
  })
  after(() => bench.close())

  it("before emitting them are emitted by another, once it is known to be dead", async () => {
    const emitted: string[] = []
    const silent: (string | undefined)[] = []
    const outbox = (node: string, deliver: Deliver) => new Outbox({ ...bench, log: bench.log, node, deliver })
    const dying = outbox("dying", () => {})
    const survivor = outbox("survivor", (_organization, message, silentSince) => {
      emitted.push(String(message.data))
      silent.push(silentSince)
    })
    const commit = (data: string) =>
      bench.works.run((work) => {
        const id = bench.ids.uuid()
        const at = new Date(bench.clock.now()).toISOString()
        const expires_at = new Date(bench.clock.now() + 3_600_000).toISOString()
        work.in(LiveMessages, orgA.id).insert({ id, room: "c:x", channel: "x", event: "e", data, at, node: "dying", expires_at })
        dying.staged(work, orgA.id, id)
        return id
      })
    dying.emitted(await commit("emitted"))
    bench.clock.ahead += 1_000
    await dying.round()
    const lastSign = bench.clock.now()
    bench.clock.ahead += 1_000
    await commit("lost")
    await survivor.round()
    expect(emitted, "taken over from a living node").to.deep.equal([])
    bench.clock.ahead += 30_000
    await survivor.round()
    await survivor.round()
    expect(emitted).to.deep.equal(["lost"])
    expect(Date.parse(silent[0] ?? "")).to.be.within(lastSign + 5_000, lastSign + 20_000)
    expect(await bench.store.open(LiveOutboxes).count({ node: "dying" })).to.equal(0)
  })
})
