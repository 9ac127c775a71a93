// What workers and their parent say to each other: links over real sockets, counts that are held together, and live
// messages that find the rooms of others.
import { connect } from "node:net"
import { expect } from "chai"
import { LocalTally } from "../../core/cluster/tally/local-tally.ts"
import { SharedTally, serveTally } from "../../core/cluster/tally/shared-tally.ts"
import { LinkedRelay, RelayService } from "../../core/cluster/workers/linked-relay.ts"
import { systemClock } from "../../core/kernel/clock.ts"
import { AppError } from "../../core/kernel/errors.ts"
import { MovableClock } from "../../core/kernel/movable-clock.ts"
import { until } from "../pipelines/bench.ts"
import { refusal } from "../storage/contract.ts"
import { type LinkPair, linkPairs, listening } from "./link-pair.ts"

describe("links between workers and their parent", () => {
  let pairs: readonly LinkPair[]
  let close: () => void = () => undefined
  const open = async (count: number) => {
    const opened = await linkPairs(count)
    pairs = opened.pairs
    close = opened.close
    return pairs as readonly [LinkPair, LinkPair]
  }
  afterEach(() => close())

  it("carry questions, answers and refusals as they are, large ones too, and keep the order", async () => {
    const [{ parent, worker }] = await open(1)
    worker.answer("echo", (body) => body)
    parent.answer("refuse", () => {
      throw new AppError("aborted", "Not now.", { reason: "busy", n: 1 }, { retryAfterS: 3 })
    })
    const large = { bytes: new Uint8Array(5_000_000).fill(7), text: "ü".repeat(100_000), at: new Date(0), list: [null, undefined, 2n] }
    expect(await parent.ask("echo", large)).to.deep.equal(large)
    const error = await refusal(worker.ask("refuse"))
    expect([error.code, error.message, error.details, error.retryAfterS]).to.deep.equal([
      "aborted",
      "Not now.",
      { reason: "busy", n: 1 },
      3,
    ])
    expect(await refusal(worker.ask("nothing"))).to.have.property("code", "unimplemented")
    const heard: number[] = []
    parent.hear("count", (n: number) => heard.push(n))
    for (let n = 0; n < 5_000; n++) worker.tell("count", n)
    worker.answer("after", () => "done")
    parent.answer("seen", () => heard.length)
    expect(await worker.ask("seen")).to.equal(5_000)
    expect(heard).to.deep.equal(heard.map((_, n) => n))
  })

  it("refuse what waits for an answer when the other end goes, and everything after", async () => {
    const [{ parent, worker }] = await open(1)
    parent.answer("never", () => new Promise(() => undefined))
    const waiting = refusal(worker.ask("never"))
    let lost = 0
    worker.onLost(() => lost++)
    parent.close()
    expect(await waiting).to.deep.include({ code: "unavailable", retryAfterS: 1 })
    expect([worker.lost, lost]).to.deep.equal([true, 1])
    worker.onLost(() => lost++)
    expect(lost).to.equal(2)
    expect(await refusal(worker.ask("never"))).to.have.property("code", "unavailable")
    worker.tell("nobody")
  })

  it("are given up when something else talks at the other end", async () => {
    for (const garbage of [Buffer.from("GET / HTTP/1.1\r\n\r\n"), Buffer.from([3, 0, 0, 0, 1, 2, 3]), Buffer.alloc(8)]) {
      const { path, arrived, close: closeServer } = await listening()
      const stranger = connect(path, () => stranger.write(garbage))
      stranger.on("error", () => undefined)
      const link = await arrived
      await new Promise<void>((resolve) => link.onLost(resolve))
      closeServer()
    }
  })

  it("hold limits together, give back what a dead worker held, and share them while the parent is away", async () => {
    const [one, two] = await open(2)
    const clock = new MovableClock()
    clock.set(0)
    const tally = new LocalTally(clock)
    const shared = [one, two].map(({ parent, worker }) => {
      serveTally(parent, tally)
      return new SharedTally({ link: worker, workers: 2, clock })
    })
    const [a, b] = shared as [SharedTally, SharedTally]
    const bucket = { id: "key:k", limit: 10 }
    const takes = await Promise.all(
      Array.from({ length: 14 }, (_, n) => (n % 2 === 0 ? a : b).take([bucket, { id: "organization:o", limit: 100 }])),
    )
    expect(takes.filter(({ taken }) => taken)).to.have.length(10)
    // Nothing was taken from the other bucket where one was empty.
    expect((await a.take([{ id: "organization:o", limit: 100 }])).left.map(Math.floor)).to.deep.equal([89])
    const place = { id: "sockets:x", limit: 2 }
    const [first, second, third] = [await a.hold(place), await b.hold(place), await b.hold(place)]
    expect([typeof first, typeof second, third]).to.deep.equal(["function", "function", undefined])
    expect(await a.first({ id: "token", value: "body-1", keepMs: 1_000 })).to.equal("body-1")
    expect(await b.first({ id: "token", value: "body-2", keepMs: 1_000 })).to.equal("body-1")
    one.worker.close()
    await until(async () => (await b.hold(place)) !== undefined)
    two.parent.close()
    await until(() => two.worker.lost)
    const alone = await Promise.all(Array.from({ length: 8 }, () => b.take([{ id: "key:other", limit: 10 }])))
    expect(alone.filter(({ taken }) => taken)).to.have.length(5)
  })

  it("carry live messages to the workers that are in the room, and to no others", async () => {
    const { pairs: three, close: closeThree } = await linkPairs(3)
    close = closeThree
    const service = new RelayService()
    const heard: string[][] = [[], [], []]
    const relays = three.map(({ parent, worker }, index) => {
      service.serve(parent)
      const relay = new LinkedRelay(worker)
      relay.onMessage((room, message) => heard[index]?.push(`${room} ${String(message)}`))
      return relay
    })
    const [a, b, c] = relays as [LinkedRelay, LinkedRelay, LinkedRelay]
    await a.start()
    await b.start()
    expect(b.wanted("room")).to.equal(false)
    await a.entered("room")
    // Known to the others when it is answered; not to the one that is in it alone.
    expect([a, b].map((relay) => relay.wanted("room"))).to.deep.equal([false, true])
    await c.start()
    expect(c.wanted("room")).to.equal(true)
    b.send("room", "from b")
    c.send("room", "from c")
    a.send("room", "from a")
    await until(() => heard[0]?.length === 2)
    await b.entered("room")
    expect(a.wanted("room")).to.equal(true)
    c.send("room", "for both")
    await until(() => heard[1]?.length === 1 && heard[0]?.length === 3)
    expect(heard).to.deep.equal([["room from b", "room from c", "room for both"], ["room for both"], []])
    a.left("room")
    await until(() => !b.wanted("room"))
    expect(c.wanted("room")).to.equal(true)
    three[1]?.worker.close()
    await until(() => !c.wanted("room"))
  })
})

describe("a tally of one process", () => {
  it("lets buckets refill evenly, and forgets what was noted in time", async () => {
    const clock = new MovableClock()
    clock.set(0)
    const tally = new LocalTally(clock)
    const take = async () => (await tally.take([{ id: "key:k", limit: 60 }])).taken
    for (let n = 0; n < 60; n++) expect(await take()).to.equal(true)
    expect(await take()).to.equal(false)
    clock.move(2_000)
    expect([await take(), await take(), await take()]).to.deep.equal([true, true, false])
    expect(await tally.first({ id: "t", value: "1", keepMs: 500 })).to.equal("1")
    clock.move(400)
    expect(await tally.first({ id: "t", value: "2", keepMs: 500 })).to.equal("1")
    clock.move(501)
    expect(await tally.first({ id: "t", value: "2", keepMs: 500 })).to.equal("2")
  })

  it("keeps kinds apart, so that a flood of addresses does not refill the buckets of keys", async () => {
    const tally = new LocalTally(systemClock)
    expect((await tally.take([{ id: "key:k", limit: 1 }])).taken).to.equal(true)
    for (let n = 0; n < 60_000; n++) await tally.take([{ id: `address:${n}`, limit: 1 }])
    expect((await tally.take([{ id: "key:k", limit: 1 }])).taken).to.equal(false)
  })
})
