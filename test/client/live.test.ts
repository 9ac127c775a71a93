// Live subscriptions of the client through cut connections: every message once, in order, complete, and none older than the
// subscription.
import { expect } from "chai"
import fc from "fast-check"
import { ClientError, connectLive, type Live, type LiveOptions } from "../../client/live.ts"
import { newPosition } from "../../core/client/position.ts"
import type { Json } from "../../core/contract/collection.ts"
import { LiveMessages, LiveNodes, LiveOutboxes } from "../../core/surface/live/messages.ts"
import { orgA, orgB } from "../surface/operations.ts"
import { endpoint, openSurfaceBench, type SurfaceBench } from "../surface/surface-bench.ts"
import { until } from "../waiting.ts"
import { type CuttingProxy, cuttingProxy } from "./cutting-proxy.ts"

type Channels = Record<string, number>

describe("live client", () => {
  let bench: SurfaceBench
  let proxy: CuttingProxy
  const open: Live<Channels>[] = []
  let channels = 0
  before(async () => {
    bench = await openSurfaceBench({ keepMessages: 200, endpointOrganization: orgA.id })
    proxy = await cuttingProxy(bench.url)
  })
  afterEach(() => {
    for (const live of open.splice(0)) live.close()
    proxy.cutAfter([])
    bench.clock.goOn()
  })
  after(async () => {
    await proxy.close()
    await bench.close()
  })

  const dial = (options: Partial<LiveOptions> = {}) => {
    const live = connectLive<Channels>({ url: proxy.url, token: "a-member", reconnectMs: 1, ...options })
    open.push(live)
    return live
  }
  const tell = (channel: string, data: Json, organization = orgA.id) =>
    bench.works.run((work) => bench.live.live.stage(work, organization, { channel, event: "n", data }))
  const freshChannel = () => `channel-${++channels}`
  /** Messages of a subscription, with a promise for a number of them. */
  function listener() {
    const messages: number[] = []
    return {
      heard: messages,
      hear: ({ data }: { data: number }) => void messages.push(data),
      hasHeard: (count: number) => until(`${count} messages`, () => messages.length >= count, { everyMs: 1 }),
    }
  }

  it("hands out each message once and in order, wherever connections are cut", async () => {
    const count = 24
    const numRuns = 30
    const cutsBefore = proxy.cuts
    await fc.assert(
      fc.asyncProperty(
        // Bytes sent on each connection.
        fc.integer({ min: 0, max: 100 }),
        fc.array(fc.integer({ min: 0, max: 6_000 }), { maxLength: 5 }),
        fc.infiniteStream(fc.boolean()),
        async (early, cuts, waits) => {
          const channel = freshChannel()
          await tell(channel, -1)
          proxy.cutAfter([early, ...cuts])
          const { heard: messages, hear, hasHeard } = listener()
          const live = dial()
          await live.subscribe(channel, hear).ready
          for (let n = 0; n < count; n++) {
            await tell(channel, n)
            if (waits.next().value) await new Promise((resolve) => setImmediate(resolve))
          }
          await hasHeard(count)
          await tell(channel, count)
          await hasHeard(count + 1)
          live.close()
          expect(messages).to.deep.equal(Array.from({ length: count + 1 }, (_, n) => n))
        },
      ),
      { numRuns },
    )
    expect(proxy.cuts - cutsBefore).to.be.at.least(numRuns)
  })

  it("misses nothing that was told while the connection was down, also before the first message", async () => {
    const channel = freshChannel()
    await tell(channel, -1)
    const { heard: resource, hear, hasHeard } = listener()
    await dial().subscribe(channel, hear).ready
    proxy.cutNow()
    for (let n = 0; n < 3; n++) await tell(channel, n)
    await hasHeard(3)
    expect(resource).to.deep.equal([0, 1, 2])
  })

  it("keeps many channels apart, and asks for all of them again", async () => {
    const names = Array.from({ length: 40 }, freshChannel)
    const live = dial()
    const messages = new Map<string, number[]>()
    const subscriptions = names.map((name) =>
      live.subscribe(name, (message) => messages.set(message.channel, [...(messages.get(message.channel) ?? []), message.data])),
    )
    await Promise.all(subscriptions.map(({ ready }) => ready))
    proxy.cutNow()
    for (const [n, name] of names.entries()) await tell(name, n)
    await until("a message of each channel", () => messages.size === names.length)
    expect([...messages].sort(([, [left = 0]], [, [right = 0]]) => left - right)).to.deep.equal(names.map((name, n) => [name, [n]]))
  })

  it("goes on from a position in another connection, without repeats", async () => {
    const channel = freshChannel()
    const first = listener()
    const live = dial()
    const subscription = live.subscribe(channel, first.hear)
    await subscription.ready
    for (let n = 0; n < 3; n++) await tell(channel, n)
    await first.hasHeard(3)
    const position = subscription.position()
    live.close()
    for (let n = 3; n < 6; n++) await tell(channel, n)
    const second = listener()
    await dial().subscribe(channel, second.hear, { after: position }).ready
    await second.hasHeard(3)
    expect(second.heard).to.deep.equal([3, 4, 5])
  })

  it("hands out once what a node that died left behind, and none of it to a page that came later", async () => {
    const channel = freshChannel()
    const node = "the node that died"
    // The test decides when the connection counts as dead, independent of pauses of the machine.
    bench.clock.stand()
    const now = () => new Date(bench.clock.now()).toISOString()
    /** Committed, but not emitted. */
    const leave = (data: Json) =>
      bench.works.run((work) => {
        const expires_at = new Date(bench.clock.now() + 3_600_000).toISOString()
        const room = `c:${channel}`
        work.in(LiveMessages, orgA.id).insert({ id: bench.ids.uuid(), room, channel, event: "n", data, at: now(), node, expires_at })
      })
    await bench.works.run((work) => {
      work.in(LiveOutboxes).insert({ id: bench.ids.uuid(), node, organization: orgA.id, created_at: now() })
      work.in(LiveNodes).insert({ id: node, beat_at: now(), emitted_through: now() })
    })
    bench.clock.ahead += 1_000
    const [first, second] = [listener(), listener()]
    await dial().subscribe(channel, first.hear).ready
    for (const n of [0, 1]) await leave(n)
    proxy.cutNow()
    await first.hasHeard(2)
    await leave(2)
    bench.clock.ahead += 15_000
    await tell(channel, 3)
    await first.hasHeard(3)
    await dial().subscribe(channel, second.hear).ready
    bench.clock.ahead += 15_000
    await until("the dead node being struck off", async () => (await bench.store.open(LiveOutboxes).count({ node })) === 0)
    await tell(channel, 4)
    await Promise.all([first.hasHeard(5), second.hasHeard(1)])
    expect(first.heard).to.deep.equal([0, 1, 3, 2, 4])
    expect(second.heard).to.deep.equal([4])
  })

  it("says when more was missed than is kept", async () => {
    const channel = freshChannel()
    const { heard: messages, hear, hasHeard } = listener()
    let gaps = 0
    const live = dial()
    const subscription = live.subscribe(channel, hear)
    await subscription.ready
    await tell(channel, 0)
    await hasHeard(1)
    live.close()
    for (let n = 1; n <= 210; n++) await tell(channel, n)
    const again = listener()
    await dial().subscribe(channel, again.hear, { after: subscription.position(), onGap: () => gaps++ }).ready
    expect(gaps).to.equal(1)
    expect(messages).to.deep.equal([0])
    expect(again.heard).to.deep.equal(Array.from({ length: 200 }, (_, n) => n + 11))
  })

  it("comes back after the service ends its connections, and stays away once the credential is refused", async () => {
    const channel = freshChannel()
    const { heard: messages, hear, hasHeard } = listener()
    const errors: ClientError[] = []
    let token = "a-member"
    const states: string[] = []
    const live = dial({ token: async () => token, onState: (state) => states.push(state) })
    await live.subscribe(channel, hear, { onError: (error) => errors.push(error) }).ready
    await bench.credentialChanged("a-member")
    await until("a new connection", () => states.includes("connecting"), { everyMs: 1 })
    await tell(channel, 1)
    await hasHeard(1)
    token = "nobody"
    proxy.cutNow()
    await until("the refused credential", () => errors.length > 0)
    expect(errors.map(({ code }) => code)).to.deep.equal(["unauthenticated"])
    expect(states.at(-1)).to.equal("closed")
    expect(messages).to.deep.equal([1])
    expect(() => live.subscribe("more", hear))
      .to.throw(ClientError)
      .with.property("code", "failed_precondition")
  })

  it("asks for its token again when that failed, and ends once it is told that there is none", async () => {
    const channel = freshChannel()
    const { heard: messages, hear, hasHeard } = listener()
    const errors: ClientError[] = []
    const answers = ["a-member", new TypeError("fetch failed"), new ClientError("unavailable", "Not now."), "a-member"]
    let requestCount = 0
    const token = () => {
      const answer = answers[requestCount++] ?? new ClientError("permission_denied", "Nobody is signed in.")
      if (typeof answer !== "string") throw answer
      return answer
    }
    const live = dial({ token })
    await live.subscribe(channel, hear, { onError: (error) => errors.push(error) }).ready
    proxy.cutNow()
    await tell(channel, 1)
    await hasHeard(1)
    expect([requestCount, errors]).to.deep.equal([4, []])
    proxy.cutNow()
    await until("being told that there is no token", () => errors.length > 0)
    expect(errors.map(({ code }) => code)).to.deep.equal(["permission_denied"])
    expect(messages).to.deep.equal([1])
    expect(() => live.subscribe("more", hear)).to.throw(ClientError)
  })

  it("is refused what is out of reach, and nothing of another organization or channel comes through", async () => {
    const channel = freshChannel()
    const { heard: messages, hear, hasHeard } = listener()
    const live = dial()
    await live.subscribe(channel, hear).ready
    expect(() => live.subscribe(channel, hear))
      .to.throw(ClientError)
      .with.property("code", "already_exists")
    const refused = await live.subscribe("no such channel!", hear).ready.catch((error: unknown) => error)
    expect(refused).to.be.instanceOf(ClientError).with.property("code", "invalid_argument")
    await tell(channel, 100, orgB.id)
    await tell(freshChannel(), 200)
    await tell(channel, 1)
    await hasHeard(1)
    expect(messages).to.deep.equal([1])
    const nobody = connectLive({ url: proxy.url, token: "nobody" }).subscribe("leads", () => {})
    expect(await nobody.ready.catch((error: unknown) => error)).to.have.property("code", "unauthenticated")
  })

  it("refuses at once what the service would cut the connection for, and keeps the connection", async () => {
    const states: string[] = []
    const live = dial({ onState: (state) => states.push(state) })
    const { heard: messages, hear, hasHeard } = listener()
    await live.subscribe("goes-on", hear).ready
    const long = "x".repeat(70_000)
    const errors: ClientError[] = []
    const tooLong = [
      live.subscribe(long, hear, { onError: (error) => errors.push(error) }),
      live.subscribe("filtered", hear, { filter: { kind: long } }),
      live.subscribe("elsewhere", hear, { after: long }),
    ]
    for (const { ready } of tooLong) {
      const error = await ready.catch((refused: unknown) => refused)
      expect(error).to.be.instanceOf(ClientError).with.property("code", "invalid_argument")
      expect((error as ClientError).message).to.match(/channel, filter and position take 70\d+ characters.*at most 16000/)
    }
    expect(errors).to.have.length(1)
    await tell("goes-on", 1)
    await hasHeard(1)
    expect([messages, states]).to.deep.equal([[1], ["connected"]])
    const nobody = dial({ token: long }).subscribe("leads", hear)
    const refused = (await nobody.ready.catch((error: unknown) => error)) as ClientError
    expect([refused.code, refused.message]).to.deep.equal([
      "invalid_argument",
      "The token, organization and endpointId take 70012 characters together; at most 16000 can be sent.",
    ])
  })

  it("hears public channels of an endpoint without a token", async () => {
    const { heard: messages, hear, hasHeard } = listener()
    await dial({ token: undefined, endpointId: endpoint }).subscribe("stage", hear).ready
    await tell("stage", 1)
    await bench.works.run((work) =>
      bench.live.live.stage(work, orgA.id, { channel: "stage", event: "n", data: 2, publicEndpoint: endpoint }),
    )
    await hasHeard(1)
    expect(messages).to.deep.equal([2])
  })

  it("leaves as many channels at once as it likes, for others and for the same ones", async () => {
    const live = dial()
    const listen = (names: string[], hear = listener().hear) => names.map((name) => live.subscribe(name, hear))
    const ready = (subscriptions: { ready: Promise<void> }[]) => Promise.all(subscriptions.map((subscription) => subscription.ready))
    const [some, others] = [Array.from({ length: 80 }, freshChannel), Array.from({ length: 80 }, freshChannel)]
    const first = listen(some)
    await ready(first)
    for (const subscription of first) subscription.close()
    const second = listen(others)
    await ready(second)
    for (const subscription of second) subscription.close()
    const { heard: messages, hear, hasHeard } = listener()
    await ready(listen(others, hear))
    for (const [n, name] of others.entries()) await tell(name, n)
    await hasHeard(80)
    expect(messages).to.deep.equal(others.map((_name, n) => n))
  })

  it("hears nothing after it was closed", async () => {
    const channel = freshChannel()
    const closed = listener()
    const going = listener()
    const live = dial()
    const subscription = live.subscribe(channel, closed.hear)
    await subscription.ready
    subscription.close()
    await live.subscribe(channel, going.hear).ready
    await tell(channel, 1)
    await going.hasHeard(1)
    expect(closed.heard).to.deep.equal([])
  })
})

describe("position of a subscription", () => {
  /** UUIDv7 of a millisecond. */
  const idAt = (ms: number, tail: number) => {
    const time = ms.toString(16).padStart(12, "0")
    return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${tail.toString(16).padStart(12, "0")}`
  }

  it("takes each id once, however often ids of the last 10 s come again", () => {
    const delivery = fc.record({ ms: fc.integer({ min: 1_000_000, max: 1_030_000 }), tail: fc.integer({ min: 0, max: 3 }) })
    fc.assert(
      fc.property(fc.array(delivery, { maxLength: 200 }), (deliveries) => {
        const position = newPosition()
        const ids = new Set<string>()
        let newest = ""
        for (const { ms, tail } of deliveries) {
          const id = idAt(ms, tail)
          // The service resends no older messages.
          if (newest !== "" && Number.parseInt(newest.replaceAll("-", "").slice(0, 12), 16) - ms > 10_000) continue
          expect(position.take({ id })).to.equal(!ids.has(id))
          ids.add(id)
          if (id > newest) newest = id
        }
        expect(position.ask() ?? "").to.equal(newest)
        const again = newPosition(position.text())
        expect(again.ask() ?? "").to.equal(newest)
        for (const id of position.text().split(",").filter(Boolean)) expect(again.take({ id })).to.equal(false)
      }),
    )
  })

  it("holds a minute of ids, and no more than the service keeps", () => {
    let now = 0
    const position = newPosition("", () => now)
    const hold = (everyMs: number) => {
      for (const end = now + 120_000; now < end; now += everyMs) position.take({ id: idAt(1_000_000 + now, 0) })
      return position.text().split(",").length
    }
    expect(hold(100)).to.be.within(600, 601)
    expect(hold(10)).to.equal(5_000)
  })

  it("knows what came before a long silence for a minute from when it asks again", () => {
    let now = 0
    const position = newPosition("", () => now)
    const early = [0, 1, 2].map((n) => idAt(1_000_000 + n, n))
    for (const id of early) position.take({ id })
    now = 600_000
    expect(position.ask()).to.equal(early[2])
    position.take({ id: idAt(1_600_000, 0) })
    now += 50_000
    position.take({ id: idAt(1_650_000, 0) })
    for (const id of early) expect(position.take({ id })).to.equal(false)
  })

  it("began at one moment, wherever it goes on, and takes nothing of a node that was dead already", () => {
    const position = newPosition()
    position.start([idAt(1_000_000, 0), idAt(999_000, 1)])
    for (const item of [position, newPosition(position.text())]) {
      expect(item.take({ id: idAt(999_000, 1) }), "told before it began").to.equal(false)
      expect(item.take({ id: idAt(970_000, 2), silent_since: new Date(980_000).toISOString() })).to.equal(false)
      expect(item.take({ id: idAt(970_000, 3), silent_since: new Date(1_010_000).toISOString() })).to.equal(true)
      // A step after a long wait emits with the id of its event.
      expect(item.take({ id: idAt(400_000, 4) })).to.equal(true)
    }
  })
})
