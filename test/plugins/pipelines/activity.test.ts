// Overview of pipelines: the graph as a picture with the outcome of each step, the schema of documents, and events by minute with
// their latencies.
import { expect } from "chai"
import fc from "fast-check"
import { Store, UnitsOfWork } from "#core"
import type { TestHost } from "#core/testing"
import {
  addMinute,
  bucketOf,
  emptyMinute,
  latencyAt,
  minutesPerBlock,
  readBlock,
  readSums,
  writeBlock,
} from "../../../plugins/capture/pipeline-insights/activity/counts.ts"
import { Pipelines } from "../../../plugins/capture/pipelines/collections.ts"
import { Bench, post } from "../../pipeline/bench.ts"
import { onBothStores } from "../../pipeline/stores.ts"
import { ShiftedClock } from "../../shifted-clock.ts"
import { until } from "../../waiting.ts"

interface Step {
  readonly id: string
  readonly side: string
  readonly is_handler: boolean
  readonly done: number
  readonly skipped: number
  readonly failed: number
  readonly pending: number
}
interface Drawn {
  readonly events: { accepted: number; rejected: number; failed: number }
  readonly since: string | null
  readonly steps: Step[]
  readonly svg: string
}
interface Activity {
  readonly accepted: number
  readonly rejected: number
  readonly failed: number
  readonly minutes: { at: string; accepted: number; rejected: number; failed: number }[]
  readonly latency: { p50_ms: number | null; p95_ms: number | null; p99_ms: number | null }
  readonly pipelines: { slug: string; accepted: number; rejected: number; failed: number }[]
}

const hostile = `<script>alert(1)</script> & "x"`

onBothStores("what is shown of pipelines", ({ start }) => {
  const clock = new ShiftedClock()
  let host: TestHost
  let bench: Bench
  before(async () => {
    host = await start({ clock })
    bench = new Bench(host)
  })
  const activity = async (query = "") => (await host.api<Activity>("GET", `/v1/event-activity${query}`)).body

  it("is a graph, drawn with what became of each step, with what people wrote as text", async () => {
    const { slug, inbound_url } = await bench.make({
      name: hostile,
      request_schema: { type: "object", required: ["email"] },
      pipeline: [
        { id: "save", type: "dataset.write", dataset_slug: "drawn", key: "email" },
        { id: "vip", type: "dataset.write", dataset_slug: "drawn-vips", when: "event.budget > 100", on_error: "note" },
        { id: "tell", type: "http.request", url: "https://crm.example.com/leads", retry: { max_attempts: 1 } },
        { id: "aside", type: "live.broadcast", channel: "drawn", needs: [], data: {} },
      ],
      handlers: { note: { type: "live.broadcast", channel: "drawn-failures", data: {} } },
    })
    for (const budget of [1, 200])
      expect((await post(inbound_url, JSON.stringify({ email: "a@example.com", budget }))).status).to.equal(200)
    expect((await post(inbound_url, "{}")).status).to.equal(400)
    const drawn = await until("the deferred steps having failed", async () => {
      const { body } = await host.api<Drawn>("GET", `/v1/event-pipelines/${slug}/graph`)
      // A step is recorded before its event.
      return body.steps.find(({ id }) => id === "tell")?.failed === 2 && body.events.failed === 2 ? body : undefined
    })
    expect(drawn.events).to.deep.equal({ accepted: 0, rejected: 1, failed: 2 })
    const of = (name: string) => drawn.steps.find(({ id }) => id === name)
    expect(of("save")).to.deep.include({ side: "before_reply", done: 2, skipped: 0, failed: 0, pending: 0 })
    expect(of("vip")).to.deep.include({ done: 1, skipped: 1 })
    expect(of("tell")).to.deep.include({ side: "after_reply", done: 0, failed: 2 })
    expect(of("note")).to.deep.include({ is_handler: true, done: 0 })
    expect(drawn.svg).to.not.match(/<script|href|<image|<foreignObject|url\((?!#)/)
    expect(drawn.svg).to.include('<title id="title">&#60;script&#62;alert(1)&#60;/script&#62; &#38; &#34;x&#34;</title>')
    expect(drawn.svg).to.include("newest 3 events").and.include("tell: http.request, 2 failed")
    expect(drawn.svg).to.include("<title>vip: dataset.write, conditional, 1 done, 1 skipped</title>")
    // Steps of a list are below the steps they wait for.
    const rows = [...drawn.svg.matchAll(/<title>(\w+):[^<]*<\/title><rect x="\d+" y="(\d+)"/g)].map(([, id, y]) => [id, Number(y)] as const)
    const top = new Map(rows)
    expect([...top.keys()]).to.have.members(["save", "vip", "tell", "aside", "note"])
    expect(top.get("save")).to.be.below(top.get("vip") ?? 0)
    expect(top.get("vip")).to.be.below(top.get("tell") ?? 0)
    expect(top.get("note")).to.equal(top.get("vip"))
  })

  it("is not a picture of a document that does not compile any more, as without the plugin of an action", async () => {
    const { id, slug } = await bench.make({ name: "Left behind", pipeline: [] })
    const pipelines = host.get(Store).open(Pipelines, host.organization.id)
    const { document } = (await pipelines.get(id)) ?? {}
    await host.get(UnitsOfWork).run(async (work) => {
      const unknownAction = { ...document, pipeline: [{ type: "gone.action" }] }
      work.in(Pipelines, host.organization.id).update(id, { $set: { document: unknownAction as never } })
    })
    const refused = await host.api<{ message: string; details: { reason: string } }>("GET", `/v1/event-pipelines/${slug}/graph`)
    expect([refused.status, refused.body.details.reason]).to.deep.equal([400, "not_compiled"])
    expect(refused.body.message).to.include("gone.action")
  })

  it("is the schema of documents, with the actions and auth modes that are installed", async () => {
    const { body } = await host.api<{ schema: { properties: object; $defs: object } }>("GET", "/v1/pipeline-schema")
    expect(Object.keys(body.schema.properties)).to.include.members(["name", "pipeline", "auth_mode"])
    expect(body.schema.$defs).to.include.keys("action.dataset.write", "auth.hmac_sha256")
  })

  it("counts events by minute, status and pipeline, and neither tests nor what another pipeline had", async () => {
    const { slug, inbound_url } = await bench.make({
      name: "Counted",
      request_schema: { type: "object", required: ["email"] },
      pipeline: [],
    })
    clock.step(600_000)
    const [ok, wrong] = ['{"email":"a@example.com"}', "{}"]
    for (const body of [ok, ok, wrong]) await post(inbound_url, body)
    await host.api("POST", `/v1/event-pipelines/${slug}/events`, { payload: JSON.parse(ok), is_test: true })
    clock.step(60_000)
    await post(inbound_url, ok)
    const counted = await activity("?minutes=5")
    expect(counted).to.deep.include({ accepted: 3, rejected: 1, failed: 0 })
    expect(counted.minutes).to.have.length(5)
    const busy = counted.minutes.filter(({ accepted, rejected }) => accepted + rejected > 0)
    expect(busy.length).to.be.greaterThan(1)
    expect(busy.reduce((sum, { accepted }) => sum + accepted, 0)).to.equal(3)
    expect(counted.pipelines.map(({ slug: value, accepted, rejected }) => [value, accepted, rejected])).to.deep.equal([[slug, 3, 1]])
    const { p50_ms, p99_ms } = counted.latency
    expect(p50_ms).to.be.greaterThan(0)
    expect(p99_ms).to.be.at.least(p50_ms ?? 0)
    const other = await bench.make({ name: "Quiet", pipeline: [] })
    const quiet = await activity(`?slug=${other.slug}`)
    expect([quiet.accepted, quiet.pipelines]).to.deep.equal([0, []])
    const unknown = await host.api<{ code: string }>("GET", "/v1/event-activity?slug=nothing")
    expect(unknown.status).to.equal(404)
    // At the beginning of a minute, so it is still the same minute below.
    clock.step(5 * 3_600_000 + 60_000 - (clock.now() % 60_000))
    await post(inbound_url, ok)
    const day = await activity(`?minutes=1440&slug=${slug}`)
    expect([day.accepted, day.rejected, day.minutes.length]).to.deep.equal([4, 1, 1_440])
    const at = day.minutes.flatMap(({ accepted }, minute) => (accepted > 0 ? minute : []))
    expect((at.at(-1) ?? 0) - (at[0] ?? 0)).to.be.at.least(300)
    // Whole and partial blocks of minutes give the same result.
    for (const minutes of [1, 9, 11, 25, 298, 312, 1_440]) {
      const all = await activity(`?minutes=${minutes}`)
      const item = await activity(`?minutes=${minutes}&slug=${slug}`)
      const sum = (list: readonly { accepted: number }[]) => list.reduce((total, { accepted }) => total + accepted, 0)
      expect([sum(all.minutes), sum(all.pipelines)], String(minutes)).to.deep.equal([all.accepted, all.accepted])
      expect([sum(item.minutes), sum(item.pipelines)], String(minutes)).to.deep.equal([item.accepted, item.accepted])
      expect(all.pipelines.filter((of) => of.slug === slug)).to.deep.equal(item.pipelines)
      expect(item.accepted, String(minutes)).to.equal(minutes < 300 ? 1 : 4)
    }
  })
})

describe("latencies in buckets", () => {
  it("give each share within a fifth, and add up", () => {
    const latencies = [...emptyMinute.latencies]
    for (let ms = 1; ms <= 1_000; ms++) {
      const bucket = bucketOf(ms)
      latencies[bucket] = (latencies[bucket] ?? 0) + 1
    }
    const minute = { counts: [999, 0, 1] as const, latencies }
    const twice = addMinute(addMinute(emptyMinute, minute), minute)
    expect(twice.counts).to.deep.equal([1_998, 0, 2])
    expect(twice.latencies.reduce((sum, count) => sum + count)).to.equal(2_000)
    for (const share of [0.5, 0.95, 0.99]) {
      const latency = latencyAt(twice.latencies, share) ?? 0
      expect(latency / (share * 1_000), String(share)).to.be.within(0.8, 1.2)
    }
    expect(latencyAt(emptyMinute.latencies, 0.5)).to.equal(null)
    expect([bucketOf(0), bucketOf(Number.NaN), bucketOf(1e12)]).to.deep.equal([0, 0, 40])
  })
})

describe("counts of a pipeline in a block of minutes", () => {
  it("are read as they were written, with their sums first", () => {
    const counts = fc.tuple(fc.nat(9_999), fc.nat(9_999), fc.nat(9_999))
    const block = fc.uniqueArray(fc.tuple(fc.nat(minutesPerBlock - 1), counts), { minLength: 1, selector: ([minute]) => minute })
    fc.assert(
      fc.property(block, (minutes) => {
        const text = writeBlock(new Map(minutes))
        expect([...readBlock(text)]).to.deep.equal(minutes.toSorted(([left], [right]) => left - right))
        const [last, sums] = readSums(text)
        expect(last).to.equal(Math.max(...minutes.map(([minute]) => minute)))
        expect(sums).to.deep.equal(
          minutes.map(([, items]) => items).reduce((all, items) => all.map((sum, at) => sum + (items[at] ?? 0)) as never),
        )
      }),
    )
    expect([...readBlock("")]).to.deep.equal([])
  })
})
