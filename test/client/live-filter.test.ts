// Live subscriptions with a filter. Each receives exactly its messages, also after cut connections. Messages without subscribers
// cost nothing.
import { expect } from "chai"
import fc from "fast-check"
import { z } from "zod"
import { type ClientError, connectLive, type Live, type LiveFilter, type LiveOptions } from "../../client/live.ts"
import { defineChannel, type HistoryArgs, type PastMessage } from "../../core/contract/channel.ts"
import type { Json } from "../../core/contract/collection.ts"
import { orgA, orgB } from "../surface/operations.ts"
import { endpoint, openSurfaceBench, type SurfaceBench } from "../surface/surface-bench.ts"
import { byTier } from "../tier.ts"
import { until } from "../waiting.ts"
import { type CuttingProxy, cuttingProxy } from "./cutting-proxy.ts"

interface Told {
  readonly n: number
  readonly kind: string
  readonly is_test: boolean
}
type Channels = Record<string, Told>

const filters = { kind: z.enum(["red", "blue"]), is_test: z.boolean() }
const stored = defineChannel({ name: "filtered-kept", summary: "Kept.", scope: "notes:read", role: "guest", filters })
/** Emitted but not stored, like messages of a channel with its own documents. */
const past: (PastMessage & { readonly organization: string })[] = []
const derived = defineChannel({ name: "filtered-derived", summary: "Derived.", scope: "notes:read", role: "guest", filters, history })

async function history({ since, limit, filter }: HistoryArgs): Promise<PastMessage[]> {
  const from = new Date(since).toISOString()
  const matches = past.filter(
    ({ at, data }) => at >= from && (filter["kind"] ?? (data as unknown as Told).kind) === (data as unknown as Told).kind,
  )
  return matches.toReversed().slice(0, limit)
}

describe("live subscriptions by a filter", () => {
  let bench: SurfaceBench
  let proxy: CuttingProxy
  const open: Live<Channels>[] = []
  before(async () => {
    bench = await openSurfaceBench({ keepMessages: 200, endpointOrganization: orgA.id, channels: [stored, derived] })
    proxy = await cuttingProxy(bench.url)
  })
  afterEach(() => {
    for (const live of open.splice(0)) live.close()
    proxy.cutAfter([])
    past.splice(0)
    bench.clock.ahead += 60_000
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
  const tell = async (channel: string, data: Told, organization = orgA.id) => {
    const message = { channel, event: "told", data: data as unknown as Json }
    if (channel === stored.name) return await bench.works.run((work) => bench.live.live.stage(work, organization, message))
    const id = bench.ids.uuid()
    past.push({ id, organization, event: "told", data: message.data, at: new Date(bench.clock.now()).toISOString() })
    bench.live.live.emit(organization, message, () => id)
    return id
  }
  const broadcastOf = (n: number): Told => ({ n, kind: n % 2 === 0 ? "red" : "blue", is_test: n % 3 === 0 })
  async function listening(live: Live<Channels>, channel: string, filter?: LiveFilter, after?: string) {
    const messages: number[] = []
    let gaps = 0
    const subscription = live.subscribe(channel, ({ data }) => messages.push(data.n), {
      ...(filter && { filter }),
      ...(after !== undefined && { after }),
      onGap: () => void gaps++,
    })
    await subscription.ready
    const hasHeard = (count: number) => until(`${count} messages`, () => messages.length >= count, { everyMs: 1 })
    return { heard: messages, hasHeard, gaps: () => gaps, subscription }
  }
  const refusalOf = async (channel: string, filter: LiveFilter, options: Partial<LiveOptions> = {}) => {
    const { ready } = dial(options).subscribe(channel, () => undefined, { filter })
    const { code, message } = await ready.then(
      () => expect.fail("it was taken"),
      (error: ClientError) => error,
    )
    return `${code} ${message}`
  }

  for (const channel of [stored.name, derived.name]) {
    it(`hear what their filter lets through and nothing else (${channel})`, async () => {
      const live = dial()
      const all = await listening(live, channel)
      const red = await listening(live, channel, { kind: "red" })
      const redTests = await listening(live, channel, { is_test: true, kind: "red" })
      const guest = await listening(dial({ token: "a-guest" }), channel, { is_test: false })
      const foreign = await listening(dial({ token: "b-member" }), channel, { kind: "red" })
      for (let n = 0; n < 12; n++) await tell(channel, broadcastOf(n))
      await tell(channel, broadcastOf(12), orgB.id)
      await Promise.all([all.hasHeard(12), red.hasHeard(6), redTests.hasHeard(2), guest.hasHeard(8), foreign.hasHeard(1)])
      expect(red.heard).to.deep.equal([0, 2, 4, 6, 8, 10])
      expect(redTests.heard).to.deep.equal([0, 6])
      expect(guest.heard).to.deep.equal([1, 2, 4, 5, 7, 8, 10, 11])
      expect(foreign.heard).to.deep.equal([12])
      redTests.subscription.close()
      const blue = await listening(live, channel, { kind: "blue" })
      for (const n of [24, 25]) await tell(channel, broadcastOf(n))
      await Promise.all([red.hasHeard(7), blue.hasHeard(1), all.hasHeard(14)])
      expect(redTests.heard, "after it was left").to.have.length(2)
      expect(blue.heard).to.deep.equal([25])
      expect(all.heard).to.deep.equal([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 24, 25])
    })

    it(`hear each message once and in order wherever connections are cut, also the only one of many (${channel})`, async () => {
      const numRuns = byTier({ fast: 8, slow: 30, soak: 200 })
      const cutsBefore = proxy.cuts
      await fc.assert(
        fc.asyncProperty(
          fc.integer({ min: 0, max: 100 }),
          fc.array(fc.integer({ min: 0, max: 6_000 }), { maxLength: 5 }),
          fc.array(fc.boolean(), { minLength: 24, maxLength: 24 }),
          async (early, cuts, kinds) => {
            bench.clock.ahead += 60_000
            proxy.cutAfter([early, ...cuts])
            const live = dial()
            const [red, all] = [await listening(live, channel, { kind: "red" }), await listening(live, channel)]
            const [requests, ofRed]: [number[], number[]] = [[], []]
            for (const [n, isRed] of [...kinds, true].entries()) {
              await tell(channel, { n, kind: isRed ? "red" : "blue", is_test: false })
              requests.push(n)
              if (isRed) ofRed.push(n)
            }
            await Promise.all([red.hasHeard(ofRed.length), all.hasHeard(requests.length)])
            await tell(channel, { n: 99, kind: "red", is_test: false })
            await Promise.all([red.hasHeard(ofRed.length + 1), all.hasHeard(requests.length + 1)])
            live.close()
            expect(red.heard).to.deep.equal([...ofRed, 99])
            expect(all.heard).to.deep.equal([...requests, 99])
          },
        ),
        { numRuns },
      )
      expect(proxy.cuts - cutsBefore).to.be.at.least(numRuns)
    })
  }

  it("go on where they were, however many others came meanwhile, and share nothing of it with the connection's other ones", async () => {
    const first = await listening(dial(), derived.name, { kind: "red" })
    await tell(derived.name, broadcastOf(0))
    await first.hasHeard(1)
    const position = first.subscription.position()
    open.splice(0)[0]?.close()
    await tell(derived.name, broadcastOf(2))
    for (let n = 0; n < 250; n++) await tell(derived.name, { n, kind: "blue", is_test: false })
    bench.clock.ahead += 60_000
    const live = dial()
    const [red, all] = [await listening(live, derived.name, { is_test: false }), await listening(live, derived.name)]
    const again = await listening(live, derived.name, { kind: "red" }, position)
    await tell(derived.name, broadcastOf(4))
    await Promise.all([again.hasHeard(2), all.hasHeard(1), red.hasHeard(1)])
    expect([again.heard, again.gaps()]).to.deep.equal([[2, 4], 0])
    expect([red.heard, all.heard]).to.deep.equal([[4], [4]])
    const unfiltered = await listening(dial(), derived.name, undefined, position)
    expect(unfiltered.gaps(), "more than the 200 that are kept").to.equal(1)
  })

  it("are told how far they are while nothing passes their filter, so that a long silence is not a gap", async () => {
    const live = dial()
    const [report, untold] = [await listening(live, stored.name, { kind: "blue" }), await listening(dial(), stored.name, { kind: "blue" })]
    const before = untold.subscription.position()
    bench.clock.ahead += 3_700_000
    const from = report.subscription.position()
    await bench.live.recheck()
    await until("being told", () => report.subscription.position() !== from, { everyMs: 1 })
    proxy.cutNow()
    await tell(stored.name, { n: 1, kind: "blue", is_test: false })
    await report.hasHeard(1)
    expect([report.heard, report.gaps()]).to.deep.equal([[1], 0])
    const late = await listening(dial(), stored.name, { kind: "blue" }, before)
    expect(late.gaps(), "of one that was not there for longer than messages are kept").to.equal(1)
  })

  it("are refused fields that the channel has no filter for, with those that it has, and values that they cannot be", async () => {
    expect(await refusalOf(stored.name, { status: "red" })).to.match(/^invalid_argument .*"filter\.status".*kind.*is_test/)
    expect(await refusalOf(stored.name, { kind: "green" })).to.match(/^invalid_argument .*"filter\.kind".*red.*blue/)
    expect(await refusalOf(stored.name, { is_test: "yes" })).to.match(/^invalid_argument .*"filter\.is_test"/)
    expect(await refusalOf("leads", { kind: "red" })).to.match(/^invalid_argument .*"filter\.kind"/)
    const viewer = { token: undefined, endpointId: endpoint }
    expect(await refusalOf("stage", { kind: "red" }, viewer)).to.match(/^invalid_argument /)
    expect(await refusalOf(stored.name, { kind: "red" }, viewer)).to.match(/^permission_denied /)
  })

  it("cost an announcement no encoding where none of them is for it, and one for all that are", async () => {
    let encoded = 0
    const announce = (kind: string) => {
      const fields = { n: 7, kind, is_test: false }
      const toJSON = () => {
        encoded++
        return fields
      }
      const data = { ...fields, toJSON }
      bench.live.live.emit(orgA.id, { channel: derived.name, event: "told", data: data as unknown as Json })
      const position = encoded
      encoded = 0
      return position
    }
    await until("those of other tests having left", () => !bench.live.live.hasSubscribers(orgA.id, { channel: derived.name }))
    expect(announce("red"), "without subscribers").to.equal(0)
    const blue = await listening(dial(), derived.name, { kind: "blue" })
    expect(bench.live.live.hasSubscribers(orgA.id, { channel: derived.name })).to.equal(true)
    expect(bench.live.live.hasSubscribers(orgB.id, { channel: derived.name })).to.equal(false)
    expect(announce("red"), "with another filter's subscriber").to.equal(0)
    const once = announce("blue")
    expect(once).to.be.above(0)
    const more = await Promise.all(
      [{ kind: "blue" }, { is_test: false }, undefined].map((filter) => listening(dial(), derived.name, filter)),
    )
    expect(announce("blue"), "with four subscribers by three filters").to.equal(once)
    await Promise.all([blue.hasHeard(2), ...more.map((item) => item.hasHeard(1))])
    for (const live of open.splice(0)) live.close()
    await until("the last one having left", () => !bench.live.live.hasSubscribers(orgA.id, { channel: derived.name }))
    expect(announce("blue"), "after all have left").to.equal(0)
  })
})
