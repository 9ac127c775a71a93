// JSON bodies that cannot be stored: refused as the sender's error, with an entry.
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { Bench, post } from "../../pipeline/bench.ts"

describe("bodies that can't be kept", () => {
  let host: TestHost
  let bench: Bench
  before(async () => {
    // Their time is not the subject: the result of 5,001 shapes may take longer than 50 ms on a busy machine.
    host = await testHost({ env: { MILLRACE_SANDBOX_TIMEOUT_MS: "5000", MILLRACE_SANDBOX_HARD_DEADLINE_MS: "20000" } })
    bench = new Bench(host)
  })
  after(() => host.stop())

  const nested = (levels: number) => `{"n":${"[".repeat(levels)}${"]".repeat(levels)}}`
  const bodies: Record<string, string> = {
    "a number beyond a double": '{"n":1e400}',
    "1,500 levels": nested(1_500),
    "100,000 levels": nested(100_000),
  }
  for (const [name, body] of Object.entries(bodies)) {
    it(`refuse ${name}, and keep an entry`, async () => {
      const pipeline = await bench.make({
        name,
        pipeline: [
          { type: "dataset.write", dataset_slug: "kept", row: { n: "{{ event.n }}" } },
          { type: "email.send", to: "sales@example.com", heading: "{{ event.n }}" },
        ],
      })
      const before = await bench.books()
      const { status, body: answer } = await post(pipeline.inbound_url, body)
      expect(status).to.equal(400)
      expect(answer).to.have.property("code", "invalid_argument")
      expect((await bench.newest(pipeline.slug)).status).to.equal("rejected")
      const after = await bench.books()
      expect([after.rows, after.jobs]).to.deep.equal([before.rows, before.jobs])
    })
  }

  it("store a property named __proto__ under another name, with a note", async () => {
    const pipeline = [{ type: "dataset.write", dataset_slug: "kept", row: { n: "{{ event.n }}" } }]
    const createdPipeline = await bench.make({ name: "Prototype", pipeline })
    expect((await post(createdPipeline.inbound_url, '{"n":{"__proto__":{"a":1}}}')).status).to.equal(200)
    const entry = await bench.newest(createdPipeline.slug)
    expect([entry.status, JSON.stringify(entry)]).to.satisfy(
      ([status, text]: [string, string]) => status === "accepted" && text.includes("proto"),
    )
  })

  const many = (count: number, make: (n: number) => string) => `[${Array.from({ length: count }, (_, n) => make(n)).join(",")}]`
  const shapes: Record<string, (n: number) => string> = {
    "5,000 different field names": (n) => many(n > 0 ? 5_001 : 5_000, (k) => `{"name${k}":1}`),
    "25,000 objects and lists": (n) => many(n > 0 ? 25_000 : 24_999, (k) => (k % 2 ? "{ }" : "[ ]")),
  }
  for (const [limit, bodyOf] of Object.entries(shapes)) {
    it(`are refused before they are parsed with more than ${limit}, and taken with as many`, async () => {
      const pipeline = await bench.make({ name: limit, pipeline: [{ type: "respond", body: "{{ event | size }}" }] })
      const { status, body } = await post(pipeline.inbound_url, bodyOf(1))
      expect([status, body.details.reason], body.message).to.deep.equal([400, "body_too_complex"])
      expect(body.message).to.include(`more than ${limit.replace(",", "")}`)
      expect((await bench.newest(pipeline.slug)).cause).to.equal("body_too_complex")
      expect((await post(pipeline.inbound_url, bodyOf(0))).status).to.equal(200)
      const path = `/v1/event-pipelines/${pipeline.slug}/test`
      const call = (text: string) => host.api<{ details: object }>("POST", path, { payload: JSON.parse(text) })
      const refused = await call(bodyOf(1))
      expect([refused.status, refused.body.details]).to.deep.equal([
        400,
        { reason: "body_too_complex", limit: Number.parseInt(limit.replace(",", ""), 10) },
      ])
    })
  }

  it("are refused where a transform returns them", async () => {
    const pipeline = await bench.make({
      name: "Returned",
      transform_js: 'function transform() { return Array.from({ length: 5_001 }, (_, n) => ({ ["n" + n]: 1 })) }',
      pipeline: [],
    })
    expect((await post(pipeline.inbound_url, {})).status).to.equal(400)
    const { cause, error } = await bench.newest(pipeline.slug)
    expect([cause, error?.message]).to.deep.equal(["transform_result", "transform's result has more than 5000 different field names."])
  })

  it("are not a reason to refuse a transform's result that can't be kept without saying why", async () => {
    const pipeline = await bench.make({
      name: "Made",
      transform_js: "function transform() { return JSON.parse('{\"__proto__\":1}') }",
      pipeline: [{ type: "dataset.write", dataset_slug: "kept", row: { n: "{{ event }}" } }],
    })
    const { status } = await post(pipeline.inbound_url, {})
    expect(status).to.equal(400)
    const entry = await bench.newest(pipeline.slug)
    expect(JSON.stringify(entry)).to.include('a property named \\"__proto__\\"')
  })
})
