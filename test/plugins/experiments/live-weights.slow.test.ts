// Live evidence while the weights of a page change, by a person and by the evidence. The test moves time by hours and days, and
// the copy of page events continues meanwhile. live.test.ts covers the rest.
import { expect } from "chai"
import type { Operations, OutputOf } from "../../../client/index.ts"
import { untilProcess as until } from "../../waiting.ts"
import { Traffic } from "./live-traffic.ts"

type LiveEvidence = OutputOf<Operations["experiments.live"]>

interface Observation {
  readonly judge_slug: string
  readonly details: { readonly before?: object; readonly after?: object }
}

const dayMs = 86_400_000

describe("live evidence under changing weights", () => {
  let traffic: Traffic
  before(async () => {
    traffic = await Traffic.start()
  })
  after(() => traffic.stop())

  const live = (slug: string) => traffic.call<LiveEvidence>("GET", `/v1/experiments/${slug}/live?window=all`)
  const counts = ({ variants }: LiveEvidence) =>
    Object.fromEntries(variants.map((variant) => [variant.variant_key, [variant.visitors, variant.conversions]]))
  const observations = async (slug: string) =>
    (await traffic.call<{ observations: Observation[] }>("GET", `/v1/experiments/${slug}/observations?kind=live&limit=200`)).observations

  it("counts by the weights of their time where weights change, and goes on when a variant is gone", async () => {
    const { page, slug } = await traffic.running("Changed")
    const html = { a: "<h1>A</h1>", b: "<h1>B</h1>" }
    await traffic.commit([...traffic.rowsOf(page, "a", { n: 200, leads: 20 }), ...traffic.rowsOf(page, "b", { n: 200, leads: 20 })])
    traffic.host.clock.move(dayMs / 2)
    const variants = [
      { key: "a", html: html.a, weight: 9 },
      { key: "b", html: html.b, weight: 1 },
    ]
    await traffic.call("PATCH", `/v1/pages/${page.slug}`, { variants })
    // From pages served before the change.
    await traffic.commit(traffic.rowsOf(page, "b", { n: 7 }))
    traffic.host.clock.move(120_000)
    await traffic.write([...traffic.rowsOf(page, "a", { n: 360, leads: 36 }), ...traffic.rowsOf(page, "b", { n: 40, leads: 4 })])
    const evidence = await live(slug)
    expect(counts(evidence)).to.deep.equal({ a: [560, 56], b: [240, 24] })
    expect(evidence.sample_ratio).to.include({ verdict: "as_expected" })
    expect(evidence.sample_ratio.variants.map(({ expected }) => Math.round(expected))).to.deep.equal([560, 240])
    expect(evidence.allocation.map(({ shares }) => shares)).to.deep.equal([
      { a: 0.5, b: 0.5 },
      { a: 0.9, b: 0.1 },
    ])
    expect(evidence.variants[1]?.to_control?.difference).to.be.closeTo(0, 1e-9)
    await traffic.call("PATCH", `/v1/pages/${page.slug}`, { variants: [{ key: "a", html: html.a, weight: 1 }] })
    traffic.host.clock.move(120_000)
    await traffic.write(traffic.rowsOf(page, "a", { n: 100, leads: 10 }))
    const alone = await live(slug)
    expect(counts(alone)).to.deep.equal({ a: [660, 66], b: [240, 24] })
    expect(alone.sample_ratio.verdict).to.equal("as_expected")
    expect(alone.variants.map(({ weight }) => weight)).to.deep.equal([1, null])
  })

  it("has the weights follow the evidence where that is asked for, never below the floor", async () => {
    const { page, slug } = await traffic.running("Followed", { allocation: { kind: "thompson", floor: 0.2, interval: "1h" } })
    const weights = async () =>
      (await traffic.call<{ variants: { weight: number }[] }>("GET", `/v1/pages/${page.slug}`)).variants.map(({ weight }) => weight)
    await traffic.write([...traffic.rowsOf(page, "a", { n: 200, leads: 10 }), ...traffic.rowsOf(page, "b", { n: 200, leads: 60 })])
    expect(await weights()).to.deep.equal([1, 1])
    traffic.host.clock.move(dayMs / 24)
    await traffic.counted()
    traffic.host.clock.move(60_000)
    await until("new weights", async () => (await weights())[0] !== 1, { everyMs: 100 })
    expect(await weights()).to.deep.equal([0.4, 1.6])
    const [change] = (await observations(slug)).filter(({ judge_slug }) => judge_slug === "live:allocation")
    expect(change?.details).to.deep.include({ before: { a: 1, b: 1 }, after: { a: 0.4, b: 1.6 } })
    await traffic.counted()
    expect((await live(slug)).allocation.map(({ shares }) => shares["b"])).to.deep.equal([0.5, 0.8])
    await traffic.call("PATCH", `/v1/experiments/${slug}`, { allocation: null })
    await traffic.write(traffic.rowsOf(page, "a", { n: 100, leads: 90 }))
    traffic.host.clock.move(dayMs / 8)
    await traffic.counted()
    expect(await weights()).to.deep.equal([0.4, 1.6])
  })
})
