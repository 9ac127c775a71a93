// Schema drift: changes of events in names, types and counts, in a patch, a plan and a live message. Test events and hostile
// events have no effect on it.
import { expect } from "chai"
import { type Json, Store } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { StagedWork } from "../../../core/contract/unit-of-work.ts"
import { driftOf } from "../../../plugins/capture/pipeline-insights/drift/findings.ts"
import { hasher, observe } from "../../../plugins/capture/pipeline-insights/drift/observe.ts"
import { Sampler } from "../../../plugins/capture/pipeline-insights/drift/sampler.ts"
import { emptySketch, SchemaSketches } from "../../../plugins/capture/pipeline-insights/drift/sketch.ts"
import { Bench, type Made, post } from "../../pipeline/bench.ts"
import { ShiftedClock } from "../../shifted-clock.ts"

interface Difference {
  readonly id: string
  readonly kind: string
  readonly path: string
  readonly events: number
  readonly share: number
  readonly rejected: number
  readonly executions: string[]
  readonly types: string[]
  readonly types_before: string[]
  readonly new_values: number
  readonly patch: { op: string; path: string; value: unknown }[]
  readonly message: string
}
interface Report {
  readonly events: number
  readonly rejected: number
  readonly sampled: number
  readonly baseline_events: number
  readonly learning: boolean
  readonly truncated: boolean
  readonly drift: Difference[]
  readonly fields: { path: string; types: string[]; share: number }[]
}

const order = { id: "A-1", status: "open", total: 12, customer: { email: "ada@example.com" }, items: [{ sku: "x", price: 1.5 }] }
const schema = {
  type: "object",
  required: ["id", "total"],
  additionalProperties: false,
  properties: {
    id: { type: "string" },
    status: { enum: ["open", "paid"] },
    total: { type: "integer" },
    customer: { type: "object", properties: { email: { type: "string" } } },
    items: {
      type: "array",
      items: { type: "object", required: ["sku"], properties: { sku: { type: "string" }, price: { type: "number" } } },
    },
  },
}

/** Sends events one by one, so each second has few enough to analyse all of them. */
async function sendAll(
  host: TestHost,
  { inbound_url }: Pick<Made, "inbound_url">,
  bodies: readonly object[],
  headers = {},
): Promise<number[]> {
  const statuses: number[] = []
  for (const [at, body] of bodies.entries()) {
    if (at % 10 === 0) host.clock.move(2_000)
    statuses.push((await post(inbound_url, body, headers)).status)
  }
  return statuses
}
const times = (count: number, body: object) => Array.from({ length: count }, () => body)

describe("schema drift", () => {
  let host: TestHost
  let bench: Bench
  before(async () => {
    host = await testHost({ capture: false })
    bench = new Bench(host)
  })
  after(() => host.stop())

  const reportOf = async (slug: string) => (await host.api<Report>("GET", `/v1/event-pipelines/${slug}/drift`)).body
  const differences = ({ drift }: Report) => drift.map(({ kind, path }) => `${kind} ${path}`)

  it("explains rejected events by their fields, types and values, and gives a patch that takes them in", async () => {
    const pipeline = await bench.make({ name: "Orders", request_schema: schema })
    await sendAll(host, pipeline, times(5, order))
    const refused = [
      { ...order, coupon: "SECRET-COUPON" },
      { ...order, total: "12" },
      { ...order, status: "refunded" },
      { ...order, items: [{ price: 2 }] },
    ]
    expect(await sendAll(host, pipeline, refused)).to.deep.equal([400, 400, 400, 400])
    const report = await reportOf("orders")
    expect(report).to.deep.include({ events: 9, rejected: 4, sampled: 9, learning: true, truncated: false })
    expect(differences(report)).to.have.members([
      "new_field /coupon",
      "type_changed /total",
      "enum_grew /status",
      "field_gone /items/*/sku",
    ])
    for (const difference of report.drift) expect(difference, difference.path).to.deep.include({ rejected: 1, events: 1 })
    const grown = report.drift.find(({ kind }) => kind === "enum_grew")
    expect(grown).to.deep.include({ new_values: 1, patch: [] })
    const [execution] = grown?.executions ?? []
    expect((await bench.entry("orders", execution ?? "")).cause).to.equal("schema_mismatch")

    type Patched = { path: string; document: Record<string, Json>; taken: string[]; left: string[]; patch: object[] }
    const { status, body } = await host.api<Patched>("POST", "/v1/event-pipelines/orders/drift/patch", {})
    expect([status, body.taken.length, body.left]).to.deep.equal([200, 3, [grown?.id]])
    const documents = [{ path: body.path, document: body.document }]
    const planned = await host.api<{ changes: { action: string; changes: { field: string }[] }[] }>("POST", "/v1/event-pipelines/plan", {
      documents,
    })
    expect(planned.body.changes[0]?.changes.map(({ field }) => field)).to.deep.equal(["request_schema"])
    expect((await host.api("GET", "/v1/event-pipelines/orders")).body["request_schema"], "nothing is changed by the patch").to.deep.equal(
      schema,
    )
    expect((await host.api("POST", "/v1/event-pipelines/apply", { documents, force: true })).status).to.equal(200)
    expect(await sendAll(host, pipeline, refused)).to.deep.equal([200, 200, 400, 200])
    const after = await reportOf("orders")
    expect(after).to.deep.include({ baseline_events: 9, events: 4 })
    expect(differences(after)).to.deep.equal(["enum_grew /status"])
  })

  it("finds what is new and gone without a schema, once enough came to compare with", async () => {
    const pipeline = await bench.make({ name: "Loose" })
    await sendAll(host, pipeline, times(110, order))
    expect(await reportOf("loose")).to.deep.include({ drift: [], learning: false, events: 110 })
    const { customer: _, ...less } = order
    await sendAll(host, pipeline, times(60, { ...less, status: "lost", total: "12", refund: { at: "2026-01-01" } }))
    const report = await reportOf("loose")
    expect(differences(report)).to.have.members(["new_field /refund", "type_changed /total", "enum_grew /status", "field_gone /customer"])
    const of = (kind: string) => report.drift.find((difference) => difference.kind === kind)
    expect(of("new_field")).to.deep.include({ events: 60, rejected: 0, types: ["object"], patch: [] })
    expect(of("type_changed")).to.deep.include({ events: 60, types: ["string"], types_before: ["integer"] })
    expect(of("field_gone")).to.deep.include({ events: 60 })
    const nothing = await host.api<{ details: { reason: string } }>("POST", "/v1/event-pipelines/loose/drift/patch", {})
    expect([nothing.status, nothing.body.details.reason]).to.deep.equal([400, "nothing_to_patch"])
    const unknown = await host.api<{ details: { reason: string } }>("POST", "/v1/event-pipelines/loose/drift/patch", { ids: ["nothing"] })
    expect([unknown.status, unknown.body.details.reason]).to.deep.equal([404, "drift_not_found"])
  })

  it("is noted by a plan, unless the planned document takes it in", async () => {
    const document = {
      name: "Planned",
      slug: "planned",
      state: "active",
      auth_mode: "none",
      request_schema: { ...schema, additionalProperties: false },
    }
    const planOf = async (input: object) => {
      const documents = [{ path: "planned.yaml", document: input }]
      return (
        await host.api<{ changes: { warnings: string[] }[] }>("POST", "/v1/event-pipelines/plan", { documents })
      ).body.changes[0]?.warnings.join(" ")
    }
    await host.api("POST", "/v1/event-pipelines/apply", { documents: [{ path: "planned.yaml", document }] })
    const { body } = await host.api<{ inbound_url: string }>("GET", "/v1/event-pipelines/planned")
    expect(await planOf(document)).not.to.include("schema-drift")
    await sendAll(host, body, [{ ...order, coupon: "x" }])
    expect(await planOf(document)).to.match(
      /schema-drift: .*\/coupon was not seen before \(string\)\. Since .*, 1 event\..*millrace event-pipelines drift planned/,
    )
    const fitting = { ...schema, properties: { ...schema.properties, coupon: { type: "string" } } }
    expect(await planOf({ ...document, request_schema: fitting })).not.to.include("schema-drift")
  })

  it("does not count tests, replays, and events that did not verify", async () => {
    const pipeline = await bench.make({ name: "Quiet", request_schema: schema, auth_mode: "shared_secret_header" })
    const headers = { "x-webhook-secret": pipeline.secret ?? "" }
    await sendAll(host, pipeline, [order], headers)
    await sendAll(host, pipeline, [{ ...order, total: "1" }], { "x-webhook-secret": "wrong" })
    await sendAll(host, pipeline, [{ ...order, total: "1" }], { ...headers, "x-service-test": "true" })
    await sendAll(host, pipeline, [{ ...order, total: "1", is_test: true }], headers)
    const { id } = await bench.newest("quiet")
    await host.api("POST", `/v1/event-pipelines/quiet/executions/${id}/replay`, {})
    expect(await reportOf("quiet")).to.deep.include({ events: 1, rejected: 0, drift: [] })
  })

  it("keeps names, types and counts, and no value", async () => {
    const pipeline = await bench.make({ name: "Private" })
    const body = { name: "Ada-VALUE", "ada@example.com": 1, "0123456789abcdef": 2, note: "x".repeat(500), list: ["ITEM-VALUE"] }
    await sendAll(host, pipeline, times(3, body))
    const report = await reportOf("private")
    expect(report.fields.map(({ path }) => path)).to.deep.equal(["/?", "/list", "/list/*", "/name", "/note"])
    const stored = JSON.stringify(await host.get(Store).open(SchemaSketches, host.organization.id).get(pipeline.id))
    for (const value of ["VALUE", "ada@", "0123456789", "xxxx"]) expect(stored).not.to.include(value)
  })

  it("stays small under any events, says so, and still finds what is common", async () => {
    const pipeline = await bench.make({ name: "Hostile" })
    const wide = Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`k${at.toString(36)}z`, at]))
    const deep = JSON.parse(`${'{"a":'.repeat(60)}1${"}".repeat(60)}`) as object
    const odd = JSON.parse('{"__proto__":{"polluted":1},"constructor":{"prototype":1},"toString":"x","a.b":1,"$where":"1"}') as object
    await sendAll(host, pipeline, [wide, deep, odd, { list: Array.from({ length: 5_000 }, (_, at) => ({ [`f${at}`]: at })) }])
    for (let round = 0; round < 30; round++) {
      const noise = Object.fromEntries(Array.from({ length: 90 }, (_, at) => [`n${round.toString(36)}x${at.toString(36)}`, "v"]))
      await sendAll(host, pipeline, [noise])
    }
    await sendAll(host, pipeline, times(60, { common: 1 }))
    const report = await reportOf("hostile")
    expect(report.truncated).to.equal(true)
    expect(report.fields.length).to.be.at.most(200)
    expect(report.fields.map(({ path }) => path)).to.include("/common")
    expect(({} as Record<string, unknown>)["polluted"]).to.equal(undefined)
    const stored = JSON.stringify(await host.get(Store).open(SchemaSketches, host.organization.id).get(pipeline.id))
    expect(stored.length).to.be.below(1_000_000)
  })

  it("is estimated where more come than are looked at", () => {
    const clock = new ShiftedClock()
    clock.stand()
    const sampler = new Sampler(clock)
    const weights = Array.from({ length: 300 }, () => sampler.take("pipeline", 100, false))
    clock.ahead += 2_000
    weights.push(sampler.take("pipeline", 100, false))
    expect(weights.filter((weight) => weight > 0).length).to.be.within(20, 100)
    expect(weights.reduce((sum, weight) => sum + weight, 0)).to.equal(301)
    expect(sampler.take("pipeline", 1_000_000, false), "too long to be looked at").to.equal(0)
  })

  it("is not held up by a schema whose parts refer to each other in circles", () => {
    const both = (name: string) => ({ anyOf: Array.from({ length: 20 }, () => ({ $ref: `#/$defs/${name}` })) })
    const circular = { properties: { x: both("a") }, $defs: { a: both("b"), b: { allOf: [both("a"), { type: "string" }] } } }
    const sketch = emptySketch()
    const hash = hasher(Buffer.alloc(32), "pipeline")
    observe(sketch, { x: 1 }, { at: "2026-01-01T00:00:00.000Z", execution: "e", rejected: true, weight: 1 }, hash)
    const drifts = driftOf({ schema: circular, baseline: null, current: sketch, hash })
    expect(drifts.map(({ kind, path }) => [kind, path])).to.deep.equal([["type_changed", "/x"]])
  })

  it("adds late events of an earlier document to those before the newest", async () => {
    const [late, other] = [
      await bench.make({ name: "Late", request_schema: null }),
      await bench.make({ name: "Beside", request_schema: null }),
    ]
    await sendAll(host, late, times(3, { a: 1 }))
    await reportOf(late.slug)
    const store = host.get(Store)
    const organization = host.organization.id
    // Another node has loaded a newer document, and has written its sketch.
    const stored = await store.open(SchemaSketches, organization).get(late.id)
    if (!stored) throw new Error("no sketch was written")
    const work = new StagedWork("of-another-node")
    work.in(SchemaSketches, organization).update(late.id, { $set: { digest: "newer", revision: 99, version: stored.version + 1 } })
    await work.commitTo(store)
    await sendAll(host, late, times(4, { a: "1" }))
    await sendAll(host, other, times(2, { b: 1 }))
    for (const slug of [other.slug, late.slug]) expect((await host.api("GET", `/v1/event-pipelines/${slug}/drift`)).status).to.equal(200)
    const merged = await store.open(SchemaSketches, organization).get(late.id)
    expect(merged).to.deep.include({ digest: "newer", revision: 99 })
    expect([merged?.baseline?.events, merged?.current.events]).to.deep.equal([4, 3])
    expect((await reportOf(other.slug)).events).to.equal(2)
  })

  it("is read for each pipeline while the sketch of another is refused", async () => {
    const [broken, other] = [
      await bench.make({ name: "Broken", request_schema: null }),
      await bench.make({ name: "Whole", request_schema: null }),
    ]
    await sendAll(host, broken, times(2, { a: 1 }))
    await reportOf(broken.slug)
    const store = host.get(Store)
    const work = new StagedWork("breaks-a-sketch")
    // A damaged sketch: merging into it fails.
    work.in(SchemaSketches, host.organization.id).update(broken.id, { $set: { current: null } })
    await work.commitTo(store)
    await sendAll(host, broken, times(2, { a: 1 }))
    await sendAll(host, other, times(2, { b: 1 }))
    expect((await reportOf(other.slug)).events).to.equal(2)
    expect(host.logged.filter((line) => line.includes("was refused and is dropped"))).to.have.length(1)
  })

  it("is told live once, and reported to members of its organization alone", async () => {
    const { body: key } = await host.api<{ secret: string }>("POST", "/v1/api-keys", { name: "guest", role: "guest" })
    expect((await host.api("GET", "/v1/event-pipelines/orders/drift", undefined, { key: key.secret })).status).to.equal(403)
    expect((await host.api("GET", "/v1/event-pipelines/nobodys/drift")).status).to.equal(404)
    const pipeline = await bench.make({ name: "Told", request_schema: schema })
    await sendAll(host, pipeline, times(2, { ...order, total: "12" }))
    await reportOf("told")
    await sendAll(host, pipeline, times(2, { ...order, total: "12" }))
    await reportOf("told")
    const broadcasts = (await host.broadcasts("schema_drift")).filter(({ data }) => (data as { pipeline: string }).pipeline === "told")
    expect(broadcasts.map(({ data }) => (data as { path: string }).path)).to.deep.equal(["/total"])
  })
})
