// Events with names and values that no row takes: whose fault it is, and what their sender is told.
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

  async function sent({ inbound_url, slug }: Made, body: string) {
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

  const names: readonly [what: string, json: string, pointer: string][] = [
    ["$set", '{"$set":1}', "/$set"],
    ["a.b", '{"a.b":1}', "/a.b"],
    ["an empty name", '{"":1}', "/"],
    ["a long name", `{"${"n".repeat(300)}":1}`, `/${"n".repeat(80)}…`],
  ]
  for (const [what, json, pointer] of names) {
    it(`is answered 400 with the place of a name that no column has: ${what}`, async () => {
      const { answer, entry } = await sent(plain, json)
      expect([answer.status, answer.body.code, answer.body.details.reason]).to.deep.equal([400, "invalid_argument", "event_not_storable"])
      expect(answer.body.details.execution_id).to.equal(entry.id)
      expect(fieldsOf(answer)).to.deep.equal([pointer])
      expect(answer.text).not.to.include("inner_").and.not.to.include("strangers")
    })
  }

  const texts: readonly [what: string, json: string, pointer: string][] = [
    ["a name that is half of a surrogate pair", '{"\\ud800":1}', "/\ufffd"],
    ["a name with NUL", '{"a":[{"b/c":{"n\\u0000":1}}]}', "/a/0/b~1c/n\ufffd"],
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
    const named = await post(`${odd.inbound_url}?a%00b=1&%24set=2`, {})
    const thrown = await post(odd.inbound_url, { boom: true })
    expect([long, shifted, named, thrown].map(({ status }) => status)).to.deep.equal([200, 200, 200, 500])
    expect((await bench.entries("odd")).map(({ cause }) => cause)).to.deep.equal(["transform_threw", "", "", ""])
  })

  it("names the sender's field where a transform passed it on, and none of the transform's own", async () => {
    const { answer } = await sent(spread, '{"form":{"a.b":1,"fine":2},"c.d":3}')
    expect([answer.status, fieldsOf(answer)]).to.deep.equal([400, ["/form/a.b"]])
    expect(answer.text).not.to.include("inner_")
  })

  it("is answered 500 where the transform made what does not do: the sender can mend nothing", async () => {
    const own = await bench.make({
      name: "Own names",
      transform_js: "function transform(event) { return { ['inner.name']: event.a } }",
      pipeline: [{ id: "inner_step", type: "dataset.write", dataset_slug: "strangers" }],
    })
    const { answer, entry } = await sent(own, '{"a":1}')
    expect([answer.status, answer.body.code, answer.body.details]).to.deep.equal([
      500,
      "internal",
      { reason: "action_failed", step: "inner_step", execution_id: entry.id },
    ])
  })

  it("is answered 400 where the field that identifies its record is given and cannot", async () => {
    const keyed = await bench.make({
      name: "Keyed",
      pipeline: [{ id: "inner_step", type: "dataset.write", dataset_slug: "keyed-strangers", key: "email" }],
    })
    for (const email of ['""', "null", "{}"]) {
      const { answer } = await sent(keyed, `{"email":${email}}`)
      expect([answer.status, fieldsOf(answer)]).to.deep.equal([400, ["/email"]])
    }
    expect((await sent(keyed, "{}")).answer.status).to.equal(500)
    const { answer: list } = await sent(keyed, "[1]")
    expect([list.status, list.body.details.fields]).to.deep.equal([400, [{ path: "", message: "The event must be an object." }]])
  })

  it("is taken where the step's failure is passed over", async () => {
    const lenient = await bench.make({
      name: "Lenient",
      pipeline: [{ id: "inner_step", type: "dataset.write", dataset_slug: "strangers", on_error: "continue" }],
    })
    const answer = await post(lenient.inbound_url, '{"$set":1}')
    expect([answer.status, (await bench.newest("lenient")).status]).to.deep.equal([200, "accepted"])
  })

  it("is refused to callers of the API in the same words", async () => {
    type Sent = { status: string; response: { status: number; body: { details: { fields: { path: string }[] } } } }
    const { body } = await host.api<Sent>("POST", "/v1/event-pipelines/plain/events", { payload: { "a.b": 1 } })
    expect([body.status, body.response.status, body.response.body.details.fields[0]?.path]).to.deep.equal(["failed", 400, "/a.b"])
  })
})
