// Bodies in the sandbox: read as JSON and checked against the pipeline's schema.
import { expect } from "chai"
import fc from "fast-check"
import { callOf, programOf, sandboxOfSuite } from "./sandbox-under-test.ts"

describe("sandbox", () => {
  const { sandbox, run, eventOf } = sandboxOfSuite()

  describe("reads a body", () => {
    it("says where a text stops being JSON, without quoting it", async () => {
      const result = await run(null, '{"secret": "s3cr3t",\n "b": }')
      expect(result).to.include({
        ok: false,
        kind: "malformed",
        message: "The body is not JSON: expected a value at position 27 (line 2, column 7).",
      })
      expect(JSON.stringify(result)).not.to.include("s3cr3t")
    })

    it("agrees with JSON.parse on what is JSON", async () => {
      const program = await programOf(sandbox, "function transform() { return {} }")
      const texts = fc.sample(
        fc.oneof(
          fc.string(),
          fc.json(),
          fc.json().map((text) => text.slice(0, -1)),
          fc.json().map((text) => `${text}]`),
        ),
        { numRuns: 300, seed: 7 },
      )
      const results = await Promise.all(texts.map((text) => sandbox.run(callOf(program, text))))
      results.forEach((result, i) => {
        const text = texts[i] ?? ""
        expect(result.ok, text).to.equal(isJson(text))
        if (!result.ok) expect(result.kind === "malformed" && result.message, text).to.match(/position \d+|empty/)
      })
    })

    it("gives back any object as it is", async () => {
      const program = await programOf(sandbox, "function transform(event) { return event }")
      const bodies = fc.sample(
        fc.dictionary(fc.string(), fc.jsonValue()).filter((body) => !("is_test" in body || "_envelope" in body)),
        { numRuns: 200, seed: 3 },
      )
      const results = await Promise.all(bodies.map((body) => sandbox.run(callOf(program, body, { wantsPayload: true }))))
      results.forEach((result, i) => {
        if (!result.ok) throw new Error(JSON.stringify(result))
        const expected = JSON.parse(JSON.stringify(bodies[i]), digitsOfLongIntegers)
        expect(JSON.parse(result.event)).to.deep.equal(expected)
        expect(JSON.parse(result.payload ?? "")).to.deep.equal(expected)
      })
    })

    it("takes out envelope and test marker before the schema sees them", async () => {
      const schema = { type: "object", additionalProperties: false, properties: { a: {} } }
      const result = await run(null, { a: 1, _envelope: { page_url: "https://a.test" }, is_test: true }, { wantsPayload: true }, schema)
      expect(result).to.deep.equal({
        ok: true,
        event: '{"a":1}',
        payload: '{"a":1}',
        envelope: '{"page_url":"https://a.test"}',
        isTest: true,
      })
    })

    it("takes the envelope from form fields, and the marker where it is a boolean", async () => {
      const result = await run(null, { a: "1", "_envelope.page_url": "https://a.test", "_envelope.__proto__": "x", is_test: true })
      expect(result).to.include({ ok: true, event: '{"a":"1"}', isTest: true, envelope: '{"page_url":"https://a.test","__proto__":"x"}' })
      for (const is_test of ["no", "true", "1", 1]) expect(await run(null, { is_test })).to.include({ event: "{}", isTest: null })
      expect(await run(null, { is_test: false })).to.include({ event: "{}", isTest: false })
    })

    it("keeps the digits of long integers for all but the schema", async () => {
      const schema = { properties: { id: { type: "integer", minimum: 1 }, price: { type: "number" } } }
      const body =
        '{"id": 9007199254740993, "below": 9007199254740991, "price": 1234567890123456.5, "far": 1e300, "text": "99999999999999999"}'
      const event = await eventOf("function transform(event) { return { ...event, kind: typeof event.id } }", body, {}, schema)
      expect(event).to.deep.equal({
        id: "9007199254740993",
        below: 9007199254740991,
        price: 1234567890123456.5,
        far: 1e300,
        text: "99999999999999999",
        kind: "string",
      })
    })

    it("refuses a single value where there is no transform to make something of it", async () => {
      expect(await run(null, "3")).to.include({ ok: false, kind: "malformed" })
      expect(await eventOf("function transform(n) { return { n } }", "3")).to.deep.equal({ n: 3 })
      expect(await eventOf(null, "[1]")).to.deep.equal([1])
    })
  })

  describe("validates", () => {
    const schema = {
      type: "object",
      required: ["email", "name"],
      properties: { email: { type: "string", format: "email" }, tags: { type: "array", items: { type: "string" } } },
    }

    it("names every problem by pointer and keyword", async () => {
      const result = await run("function transform(event) { throw new Error('not reached') }", { email: "no", tags: ["a", 1] }, {}, schema)
      if (result.ok || result.kind !== "invalid") throw new Error(JSON.stringify(result))
      expect(result.errors.map(({ pointer, keyword }) => [pointer, keyword])).to.deep.equal([
        ["/name", "required"],
        ["/email", "format"],
        ["/tags/1", "type"],
      ])
    })

    it("reports at most twenty problems of a body, and one of a large body", async () => {
      const problemsOf = async (length: number) => {
        const result = await run(null, { tags: Array.from({ length }, () => 1) }, {}, schema)
        return !result.ok && result.kind === "invalid" && result.errors.length
      }
      expect([await problemsOf(500), await problemsOf(400_000)]).to.deep.equal([20, 1])
    })

    it("takes the same addresses of ASCII for email and for idn-email", async () => {
      const takenAs = async (format: string, addresses: readonly string[]) => {
        const program = await programOf(sandbox, null, { type: "object", properties: { a: { type: "string", format } } })
        const results = await Promise.all(addresses.map((a) => sandbox.run(callOf(program, { a }, { pipelineId: format }))))
        return addresses.filter((_, i) => results[i]?.ok)
      }
      const existing: Record<string, boolean> = {
        "ada@example.com": true,
        "ada.b+c_d-e@mail.example.com": true,
        '"a b"@example.com': true,
        "ada@[127.0.0.1]": true,
        "ada@a-b.example": true,
        [`ada@${"a".repeat(63)}.com`]: true,
        [`ada@${"a".repeat(64)}.com`]: false,
        "ada@localhost": false,
        "ada@example..com": false,
        "ada@-example.com": false,
        ".ada@example.com": false,
        "ada.@example.com": false,
        "ada b@example.com": false,
        "ada@example.com\n": false,
        "@example.com": false,
        "ada\u00e9@example.com": false,
      }
      expect(await takenAs("email", Object.keys(existing))).to.deep.equal(Object.keys(existing).filter((address) => existing[address]))
      const part = fc.string({ unit: fc.constantFrom(..."aaabbbZZ99.-_+ "), minLength: 1, maxLength: 4 })
      const inputs = fc.tuple(part, part, part).map(([local, domain, top]) => `${local}@${domain}.${top}`)
      const addresses = [...new Set(fc.sample(inputs, { seed: 1, numRuns: 1_000 }))]
      const accepted = await takenAs("email", addresses)
      expect(accepted).to.deep.equal(await takenAs("idn-email", addresses))
      expect(accepted).to.have.length.within(20, addresses.length - 20)
    })

    it("does not take inherited names for properties", async () => {
      expect(await run(null, {}, {}, { required: ["toString"] })).to.include({ ok: false, kind: "invalid" })
    })
  })
})

function digitsOfLongIntegers(_key: string, value: unknown): unknown {
  return typeof value === "number" && !Number.isSafeInteger(value) && /^-?\d+$/.test(String(value)) ? String(value) : value
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
