// Events with unstorable names and values: the responsible side, and the sender's answer.
import { expect } from "chai"
import type { TestHost } from "#core/testing"
import { type Answered, Bench, type Made, post } from "../bench.ts"
import { onStoresInTurn } from "../stores.ts"

onStoresInTurn("an event that a row cannot hold", ({ start }) => {
  let host: TestHost
  let bench: Bench
  let plain: Made
  let spread: Made

  before(async () => {
    host = await start()
    bench = new Bench(host)
    const pipeline = [{ id: "inner_step", type: "dataset.write", dataset_slug: "strangers" }]
    plain = await bench.make({ name: "Plain", pipeline })
    spread = await bench.make({
      name: "Spread",
      transform_js: "function transform(event) { return { inner_name: 1, ...event.form } }",
      pipeline,
    })
  })

  const fieldsOf = ({ body }: Answered) => (body.details.fields as { path: string }[]).map(({ path }) => path)

  async function postAndCompare({ inbound_url, slug }: Made, body: string) {
    const before = await bench.books()
    const answer = await post(inbound_url, body)
    const after = await bench.books()
    expect(after, `${answer.status} ${answer.text}: nothing but its entry and what it came with`).to.deep.equal({
      ...before,
      entries: before.entries + 1,
      payloads: before.payloads + 1,
    })
    const entry = await bench.newest(slug)
    expect(entry).to.deep.include({ status: "failed", cause: "action_failed", rows: [] })
    expect(entry.error?.step).to.equal("inner_step")
    return { answer, entry }
  }

  const texts: readonly [what: string, json: string, pointer: string][] = [
    ["a name that is half of a surrogate pair", '{"\\ud800":1}', "/\ufffd"],
    ["half of a surrogate pair in text", '{"a":{"b":"x\\ud800"}}', "/a/b"],
    ["the same in the page envelope", '{"a":1,"_envelope":{"variant":"\\udc00"}}', "/_envelope/variant"],
  ]
  for (const [what, json, pointer] of texts) {
    it(`is rejected before any step, also where no step reads it: ${what}`, async () => {
      for (const { inbound_url, slug } of [plain, spread, await bench.make({ name: `Idle ${what}`, pipeline: [] })]) {
        const before = await bench.books()
        const answer = await post(inbound_url, json)
        expect([answer.status, answer.body.details.reason, fieldsOf(answer)]).to.deep.equal([400, "malformed_body", [pointer]])
        expect(await bench.books()).to.deep.equal({ ...before, entries: before.entries + 1 })
        expect(await bench.newest(slug)).to.deep.include({ status: "rejected", cause: "malformed_body" })
      }
    })
  }

  it("is taken where it has whole pairs, and NUL in text", async () => {
    const answer = await post(plain.inbound_url, '{"whole":"\\ud83d\\ude00 \\\\ud83d","nul":"a\\u0000b"}')
    expect(answer.status, answer.text).to.equal(200)
    expect((await bench.rows("strangers"))[0]?.values).to.include({ whole: "\u{1f600} \\ud83d", nul: "a\0b" })
  })

  it("is stored with U+FFFD where a transform cut a character in two", async () => {
    const cut = await bench.make({
      name: "Cut",
      transform_js: "function transform(event) { return { first: event.name.slice(0, 1), whole: event.name } }",
      pipeline: [
        { type: "dataset.write", dataset_slug: "cut" },
        { type: "live.broadcast", channel: "cut", data: { first: "{{ event.first }}" } },
      ],
    })
    const answer = await post(cut.inbound_url, { name: "\u{1f600} \\ud83d" })
    expect(answer.status, answer.text).to.equal(200)
    expect((await bench.rows("cut"))[0]?.values).to.include({ first: "\ufffd", whole: "\u{1f600} \\ud83d" })
  })

  it("leaves an entry however it reads: a preview that is cut in a character, what a transform threw, names in a query", async () => {
    const odd = await bench.make({
      name: "Odd",
      transform_js: "function transform(event) { if (event.boom) throw new Error('a\\ud800'); return {} }",
    })
    const long = await post(odd.inbound_url, { a: "\u{1f600}".repeat(1_500) })
    const shifted = await post(odd.inbound_url, { ab: "\u{1f600}".repeat(1_500) })
    const answer = await post(`${odd.inbound_url}?a%00b=1&%24set=2`, {})
    const thrown = await post(odd.inbound_url, { boom: true })
    expect([long, shifted, answer, thrown].map(({ status }) => status)).to.deep.equal([200, 200, 200, 400])
    expect((await bench.entries("odd")).map(({ cause }) => cause)).to.deep.equal(["transform_threw", "", "", ""])
  })

  it("is answered 400 where the field that identifies its record is given and cannot", async () => {
    const keyed = await bench.make({
      name: "Keyed",
      pipeline: [{ id: "inner_step", type: "dataset.write", dataset_slug: "keyed-strangers", key: "email" }],
    })
    for (const email of ['""', "null", "{}"]) {
      const { answer } = await postAndCompare(keyed, `{"email":${email}}`)
      expect([answer.status, fieldsOf(answer)]).to.deep.equal([400, ["/email"]])
    }
    const { answer: absent } = await postAndCompare(keyed, "{}")
    expect([absent.status, absent.body.details.reason, fieldsOf(absent)]).to.deep.equal([400, "event_not_storable", ["/email"]])
    const { answer: list } = await postAndCompare(keyed, "[1]")
    expect([list.status, list.body.details.fields]).to.deep.equal([400, [{ path: "", message: "The event must be an object." }]])
  })

  it("is answered 400 without names of the pipeline's own if a transform or a template makes what a step refuses", async () => {
    const lost = { transform_js: "function transform(event) { return { inner_mail: event.mail } }" }
    const write = { id: "inner_step", type: "dataset.write", dataset_slug: "made-strangers" }
    const cases: readonly [title: string, document: object, body: string][] = [
      ["Lost key", { ...lost, pipeline: [{ ...write, key: "inner_mail" }] }, '{"other":1}'],
      ["List", { transform_js: "function transform(event) { return event.list }", pipeline: [write] }, '{"list":[1,2]}'],
      ["Channel", { pipeline: [{ id: "inner_step", type: "live.broadcast", channel: "{{ event.to }}" }] }, '{"to":"no channel!"}'],
      ["Filter", { pipeline: [{ ...write, row: { inner_n: "{{ event.n | divided_by: 0 }}" } }] }, '{"n":1}'],
      ["Condition", { pipeline: [{ ...write, when: "event.n | plus: 1" }] }, '{"n":1}'],
      ["Elements", { pipeline: [{ ...write, for_each: "event.items" }] }, '{"items":"none"}'],
      ["Many elements", { pipeline: [{ ...write, for_each: "event.items" }] }, JSON.stringify({ items: Array(1_001).fill({ a: 1 }) })],
    ]
    for (const [name, document, body] of cases) {
      const pipeline = await bench.make({ name, ...document } as Parameters<Bench["make"]>[0])
      const { answer, entry } = await postAndCompare(pipeline, body)
      expect([answer.status, answer.body.code, answer.body.details], name).to.deep.equal([
        400,
        "failed_precondition",
        { reason: "event_refused", execution_id: entry.id, step: "inner_step" },
      ])
      expect(answer.text).not.to.include("inner_mail").and.not.to.include("made-strangers")
    }
  })

  it("is answered 500 if the pipeline is at fault: its dataset is archived", async () => {
    const pipeline = await bench.make({
      name: "Archived",
      pipeline: [{ id: "inner_step", type: "dataset.write", dataset_slug: "shelved" }],
    })
    await host.api("PATCH", "/v1/datasets/shelved", { status: "archived" })
    const { answer } = await postAndCompare(pipeline, '{"a":1}')
    expect([answer.status, answer.body.details.reason]).to.deep.equal([500, "action_failed"])
  })

  it("is taken where the step's failure is passed over", async () => {
    const lenient = await bench.make({
      name: "Lenient",
      pipeline: [{ id: "inner_step", type: "dataset.write", dataset_slug: "strangers", on_error: "continue" }],
    })
    const answer = await post(lenient.inbound_url, "[1]")
    expect([answer.status, (await bench.newest("lenient")).status]).to.deep.equal([200, "accepted"])
  })

  it("is refused to callers of the API in the same words", async () => {
    type Sent = { status: string; response: { status: number; body: { details: { fields: { path: string }[] } } } }
    const { body } = await host.api<Sent>("POST", "/v1/event-pipelines/keyed/events", { payload: { a: 1 } })
    expect([body.status, body.response.status, body.response.body.details.fields[0]?.path]).to.deep.equal(["failed", 400, "/email"])
  })
})
