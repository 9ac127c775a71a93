// Bodies that are JSON and can't be kept as it: refused as the sender's mistake, with an entry that says so.
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { Bench, post } from "../../pipelines/bench.ts"

describe("bodies that can't be kept", () => {
  let host: TestHost
  let bench: Bench
  before(async () => {
    host = await testHost()
    bench = new Bench(host)
  })
  after(() => host.stop())

  const nested = (levels: number) => `{"n":${"[".repeat(levels)}${"]".repeat(levels)}}`
  const bodies: Record<string, string> = {
    "a number beyond a double": '{"n":1e400}',
    "1,500 levels": nested(1_500),
    "100,000 levels": nested(100_000),
    "a property named __proto__": '{"n":{"__proto__":{"a":1}}}',
  }
  for (const [name, body] of Object.entries(bodies)) {
    it(`refuse ${name}, and keep an entry`, async () => {
      const made = await bench.make({
        name,
        pipeline: [
          { type: "dataset.write", dataset_slug: "kept", row: { n: "{{ event.n }}" } },
          { type: "email.send", to: "sales@example.com", heading: "{{ event.n }}" },
        ],
      })
      const before = await bench.books()
      const { status, body: answer } = await post(made.inbound_url, body)
      expect(status).to.equal(400)
      expect(answer).to.have.property("code", "invalid_argument")
      expect((await bench.newest(made.slug)).status).to.equal("rejected")
      const after = await bench.books()
      expect([after.rows, after.jobs]).to.deep.equal([before.rows, before.jobs])
    })
  }

  it("are no reason to refuse a transform's result that can't be kept without saying why", async () => {
    const made = await bench.make({
      name: "Made",
      transform_js: "function transform() { return JSON.parse('{\"__proto__\":1}') }",
      pipeline: [{ type: "dataset.write", dataset_slug: "kept", row: { n: "{{ event }}" } }],
    })
    const { status } = await post(made.inbound_url, {})
    expect(status).to.be.oneOf([422, 500])
    const entry = await bench.newest(made.slug)
    expect(JSON.stringify(entry)).to.include('a property named \\"__proto__\\"')
  })
})
