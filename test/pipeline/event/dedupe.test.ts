// Repeated events: answered like the first and journalled as its repeat. Only accepted events have repeats.
import { expect } from "chai"
import { Clock } from "#core"
import type { TestHost } from "#core/testing"
import { listen, type Peer } from "../../plugins/outgoing-http/loopback-peer.ts"
import { ShiftedClock } from "../../shifted-clock.ts"
import { patiently, until } from "../../waiting.ts"
import { Bench, post } from "../bench.ts"
import { onBothStores, onMongo } from "../stores.ts"

const document = {
  name: "Once",
  dedupe: { key: "{{ headers['x-delivery'] }}", window: "24h" },
  request_schema: { type: "object", required: ["n"] },
  transform_js: 'function transform(event) { if (event.n === "boom") throw new Error("boom"); return event }',
  pipeline: [
    { id: "save", type: "dataset.write", dataset_slug: "once", row: { n: "{{ event.n }}" } },
    { type: "live.broadcast", channel: "once" },
    { type: "respond", status: 201, headers: { "x-row": "{{ steps.save.row_id }}" }, body: { row: "{{ steps.save.row_id }}" } },
  ],
}

onBothStores("deduplication", ({ start }) => {
  const clock = new ShiftedClock()
  let host: TestHost
  let bench: Bench
  let url: string
  let peer: Peer
  /** Requests to the peer, and the gate before its answers. */
  const arrived: string[] = []
  const gate = Promise.withResolvers<void>()
  before(async () => {
    peer = await listen(({ url }, response) => {
      arrived.push(url)
      void gate.promise.then(() => response.end("{}"))
    })
    host = await start({ clock, env: { MILLRACE_OUTGOING_ALLOW_HOSTS: `127.0.0.1:${peer.port}` } })
    expect(host.get(Clock)).to.equal(clock)
    bench = new Bench(host)
    url = (await bench.make(document)).inbound_url
  })
  after(() => peer.close())
  const send = (delivery: string, n: unknown = 1, headers: Record<string, string> = {}) =>
    post(url, { n }, { "x-delivery": delivery, ...headers })

  it("answers a repeat as the first was, status, headers and body, and journals it as one", async () => {
    const first = await send("a", 1, { "x-service-test": "1" })
    const again = await send("a", 2)
    expect([again.status, again.text, again.headers.get("x-row")]).to.deep.equal([201, first.text, first.headers.get("x-row")])
    expect((await bench.rows("once")).map(({ values }) => values["n"])).to.deep.equal([1])
    const [repeat, origin] = await bench.entries("once")
    expect(repeat).to.include({ status: "accepted", repeat_of: origin?.id, is_test: true })
    const detail = await bench.entry("once", repeat?.id ?? "")
    expect(detail).to.deep.include({ steps: {}, rows: [], dedupe: { key: "a", outcome: "repeat" } })
    expect((await bench.entry("once", origin?.id ?? "")).dedupe).to.deep.equal({ key: "a", outcome: "first" })
    expect((await bench.books()).messages).to.equal(1)
  })

  it("runs one of many that come at once", async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, (_, n) => send("b", n)))
    expect(new Set(answers.map(({ text }) => text)).size).to.equal(1)
    expect(answers.every(({ status }) => status === 201)).to.equal(true)
    const entries = (await bench.entries("once", "?limit=20")).filter(({ repeat_of }) => repeat_of !== null)
    expect(entries.length).to.equal(19)
    expect(new Set(entries.map(({ repeat_of }) => repeat_of)).size).to.equal(1)
    expect(await bench.rows("once")).to.have.length(2)
  })

  it("runs the repeat of what was rejected or failed", async () => {
    const rejected = await post(url, { wrong: true }, { "x-delivery": "c" })
    const failed = await send("c", "boom")
    const accepted = await send("c", 3)
    const repeat = await send("c", 4)
    expect([rejected.status, failed.status, accepted.status, repeat.status]).to.deep.equal([400, 400, 201, 201])
    expect(repeat.text).to.equal(accepted.text)
    expect((await bench.rows("once")).map(({ values }) => values["n"]))
      .to.include(3)
      .and.not.to.include(4)
  })

  it("knows no repeats of an event without a key", async () => {
    const rows = (await bench.rows("once")).length
    await post(url, { n: 5 })
    await post(url, { n: 5 })
    expect(await bench.rows("once")).to.have.length(rows + 2)
    expect(await bench.newest("once")).to.include({ dedupe: null, repeat_of: null })
  })

  it("runs it again when the window is over", async () => {
    const first = await send("d", 6)
    clock.step(23 * 3_600_000)
    expect((await send("d", 6)).text).to.equal(first.text)
    clock.step(3_600_000)
    const later = await send("d", 6)
    expect(later.text).not.to.equal(first.text)
    expect((await send("d", 6)).text).to.equal(later.text)
  })

  it("takes keys from the body, without the proof, and refuses a body it cannot read", async () => {
    const pipeline = await bench.make({
      name: "By id",
      dedupe: { key: "{{ payload.id }}" },
      pipeline: [{ type: "dataset.write", dataset_slug: "by-id" }],
    })
    const first = await post(pipeline.inbound_url, { id: 7 })
    expect((await post(pipeline.inbound_url, { id: 7, more: 1 })).text).to.equal(first.text)
    const broken = await post(pipeline.inbound_url, "{")
    expect([broken.status, broken.body.details.reason]).to.deep.equal([400, "malformed_body"])
    expect(await bench.rows("by-id")).to.have.length(1)
  })

  it("counts inside as well: an internal pipeline deduplicates", async () => {
    await bench.make({
      name: "Inner",
      source_kind: "internal",
      dedupe: { key: "{{ payload.id }}" },
      pipeline: [{ type: "dataset.write", dataset_slug: "inner" }],
    })
    const feed = () =>
      host.api<{ execution_id: string; response: { body: unknown } }>("POST", "/v1/event-pipelines/inner/events", { payload: { id: 1 } })
    const [first, second] = [await feed(), await feed()]
    expect(second.body.response).to.deep.equal(first.body.response)
    expect(await bench.rows("inner")).to.have.length(1)
    expect((await bench.newest("inner")).repeat_of).to.equal(first.body.execution_id)
  })

  it("makes a repeat wait for the first, which is still in progress", async () => {
    const call = { id: "call", type: "http.request", await: true, url: `${peer.origin}/{{ payload.id }}`, timeout_ms: 600_000 }
    const pipeline = await bench.make({
      name: "Slow",
      dedupe: { key: "{{ payload.id }}" },
      pipeline: [{ ...call, retry: { max_attempts: 1 } }],
    })
    const first = post(pipeline.inbound_url, { id: 1 })
    await until("the first call", () => arrived.length === 1)
    const repeat = post(pipeline.inbound_url, { id: 1 })
    // Later events take the same path as the repeat would without waiting.
    const others: ReturnType<typeof post>[] = []
    for (const id of [2, 3]) {
      others.push(post(pipeline.inbound_url, { id }))
      await until(`the call of event ${id}`, () => arrived.includes(`/${id}`))
    }
    gate.resolve()
    const [answer, second] = await Promise.all([first, repeat, ...others])
    expect([answer.status, second.status, [...arrived].sort()]).to.deep.equal([200, 200, ["/1", "/2", "/3"]])
    expect(second.text).to.equal(answer.text)
  })
})

onMongo("deduplication on two nodes", ({ start, storage }) => {
  it("runs one of the repeats that reach both nodes at once", async () => {
    const env = await storage()
    const host = await start({ env })
    const two = await start({ env, dataDir: host.dataDir })
    const bench = new Bench(host)
    const pipeline = await bench.make(document)
    const urls = [pipeline.inbound_url, pipeline.inbound_url.replace(host.url, two.url)]
    const send = (url: string, n: number, delivery: string) => patiently(() => post(url, { n }, { "x-delivery": delivery }))
    await Promise.all(urls.map((url) => send(url, 0, "warm")))
    const answers = await Promise.all(Array.from({ length: 40 }, (_, n) => send(urls[n % 2] ?? "", n, `k${n % 10}`)))
    expect(answers.map(({ status }) => status)).to.deep.equal(answers.map(() => 201))
    for (let key = 0; key < 10; key++) expect(new Set(answers.filter((_, n) => n % 10 === key).map(({ text }) => text)).size).to.equal(1)
    expect(await bench.rows("once")).to.have.length(11)
    const entries = await bench.entries("once", "?limit=200")
    expect(entries.filter(({ repeat_of }) => repeat_of === null)).to.have.length(11)
    expect(entries.filter(({ status }) => status !== "accepted")).to.have.length(0)
    expect((await bench.books()).messages).to.equal(11)
  })
})
