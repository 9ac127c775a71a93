// Programs run outside of isolates give the isolate's result for random transforms, schemas and bodies. Other programs stay in
// the isolate.
import { expect } from "chai"
import fc from "fast-check"
import { mapped, readMapping } from "../../../core/pipeline/sandbox/mapping/mapping.ts"
import type { Program } from "../../../core/pipeline/sandbox/sandbox.ts"
import { drawnRuns, seed } from "../../tier.ts"
import { callOf, programOf, sandboxUnderTest } from "./sandbox-under-test.ts"

const names = ["a", "b", "c", "toString", "length", "constructor", "is_test", "1"]
const name = fc.constantFrom(...names)
const access = (of: string) =>
  fc.tuple(name, fc.constantFrom(".", "?.", "[", "?.[")).map(([key, by]) => {
    const isPlain = /^[a-z_]+$/i.test(key)
    return by.endsWith("[") || !isPlain ? `${of}${by.startsWith("?") ? "?." : ""}["${key}"]` : `${of}${by}${key}`
  })

/** Random expressions over `event`, most of them supported by a mapping. */
const { expression } = fc.letrec<{ expression: string }>((tie) => {
  const inputs = tie("expression")
  return {
    expression: fc.oneof(
      { maxDepth: 4, depthSize: "small" },
      fc.constantFrom(
        "event",
        "null",
        "undefined",
        "true",
        "0",
        "-1",
        "1.5",
        '"x"',
        '" Ä "',
        '""',
        "event.a",
        "event.b.c",
        "event?.b?.[0]",
      ),
      access("event"),
      inputs.chain((of) => access(/^event[^ ]*$/.test(of) ? of : `(${of})`)),
      fc
        .tuple(inputs, fc.constantFrom(".trim()", "?.trim()", ".toUpperCase()", "?.toLowerCase()", ".trimEnd()"))
        .map(([of, by]) => `(${of})${by}`),
      fc.tuple(fc.constantFrom("String", "Number", "Boolean"), inputs).map(([to, of]) => `${to}(${of})`),
      fc
        .tuple(inputs, fc.constantFrom("||", "&&", "===", "!=", "<", ">=", "+", "-", "*", "%"), inputs)
        .map(([a, by, b]) => `((${a}) ${by} (${b}))`),
      fc.tuple(inputs, inputs).map(([a, b]) => `((${a}) ?? (${b}))`),
      fc.tuple(inputs, inputs, inputs).map(([a, b, c]) => `(${a} ? ${b} : ${c})`),
      inputs.map((of) => `!(${of})`),
      fc.tuple(inputs, inputs).map(([a, b]) => `\`\${${a}} and \${${b}}\``),
      fc.array(inputs, { maxLength: 3 }).map((all) => `[${all.join(", ")}]`),
      fc.array(fc.tuple(name, inputs), { maxLength: 3 }).map((all) => `({ ${all.map(([key, of]) => `"${key}": ${of}`).join(", ")} })`),
      fc.tuple(inputs, name, inputs).map(([from, key, of]) => `({ ...(${from}), "${key}": ${of} })`),
    ),
  }
})

const scalar = fc.oneof(
  fc.constantFrom(null, true, false, 0, -0, 1, 1.5, 1e21, "", " x ", "ada@example.com", "ß", "İ", "12", "😀"),
  fc.integer(),
  fc.string({ maxLength: 5 }),
)
const body = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.dictionary(name, fc.oneof(scalar, fc.dictionary(name, scalar, { maxKeys: 3 }), fc.array(scalar, { maxLength: 3 })), {
      maxKeys: 5,
    }),
  },
  { weight: 1, arbitrary: fc.oneof(scalar, fc.array(scalar, { maxLength: 3 })) },
)

const { schema } = fc.letrec<{ schema: unknown }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 2 },
    fc.record(
      {
        type: fc.oneof(
          fc.constantFrom("string", "number", "integer", "object", "array", "boolean", "null"),
          fc.constant(["string", "null"]),
        ),
        minLength: fc.nat(3),
        maxLength: fc.nat(3),
        minimum: fc.integer({ min: -2, max: 2 }),
        maximum: fc.integer({ min: -2, max: 2 }),
        enum: fc.uniqueArray(scalar, { minLength: 1, maxLength: 4, comparator: (a, b) => a === b }),
        format: fc.constant("email"),
      },
      { requiredKeys: [] },
    ),
    fc.record(
      {
        type: fc.constant("object"),
        required: fc.uniqueArray(name, { maxLength: 2 }),
        properties: fc.dictionary(name, tie("schema"), { maxKeys: 3 }),
        additionalProperties: fc.boolean(),
      },
      { requiredKeys: [] },
    ),
    fc.record({ type: fc.constant("array"), items: tie("schema"), minItems: fc.nat(2), maxItems: fc.nat(2) }, { requiredKeys: [] }),
  ),
}))

describe("programs that only rearrange fields", () => {
  const sandbox = sandboxUnderTest()
  before(() => sandbox.start())
  after(() => sandbox.stop())

  /** Returns the number of mapped bodies. Throws if a result differs from the isolate's. */
  async function agree(program: Program, bodies: readonly string[], pipelineId: string): Promise<number> {
    let count = 0
    for (const text of bodies) {
      const call = callOf(program, text, { wantsPayload: text.length % 2 === 0, pipelineId })
      const here = mapped(call)
      if (!here) continue
      count++
      expect(here, `${program.transform} of ${text}`).to.deep.equal(await sandbox.run(call))
    }
    return count
  }

  const texts = fc.array(
    fc.tuple(body, fc.constantFrom(0, 1)).map(([value, indent]) => JSON.stringify(value, null, indent)),
    { minLength: 4, maxLength: 4 },
  )
  const odd = [
    '{"a":12345678901234567890}',
    '{"a":1e400}',
    '{"a":"\\ud800"}',
    '{"__proto__":{"a":1}}',
    '{"_envelope":{"variant":"b"},"is_test":true}',
    "{",
    "1",
  ]

  it("give what the isolate gives, for drawn transforms and bodies", async () => {
    let [mappings, events] = [0, 0]
    await fc.assert(
      fc.asyncProperty(expression, texts, async (source, bodies) => {
        const program = await programOf(sandbox, `function transform(event) { return ${source} }`)
        if (program.mapping) mappings++
        events += await agree(program, [...bodies, ...odd], `t${mappings}`)
      }),
      { numRuns: drawnRuns * 6, seed },
    )
    // Otherwise no comparisons took place.
    expect([mappings > 2 * drawnRuns, events > 2 * drawnRuns]).to.deep.equal([true, true])
  })

  it("accept no body that the validator refuses, for drawn schemas and bodies", async () => {
    let events = 0
    await fc.assert(
      fc.asyncProperty(schema, texts, async (drawnSchema, bodies) => {
        const program = await programOf(sandbox, null, drawnSchema)
        events += await agree(program, [...bodies, ...odd], "schema")
      }),
      { numRuns: drawnRuns * 6, seed },
    )
    expect(events > drawnRuns).to.equal(true)
  })

  it("are told from those that do more", async () => {
    const isMapped = async (transform: string, input: unknown = null) => (await programOf(sandbox, transform, input)).mapping !== null
    for (const plain of [
      "function transform(event) { return { email: event.email.trim().toLowerCase(), budget: Number(event.budget) || 0 } }",
      `const transform = (event) => ({ ...event, name: \`\${event.first ?? ""} \${event.last ?? ""}\`.trim() })`,
      "function transform(event) { return event.kind === 'spam' ? null : event }",
    ])
      expect([plain, await isMapped(plain)]).to.deep.equal([plain, true])
    for (const more of [
      "function transform(event, context) { return event }",
      "function transform({ a }) { return { a } }",
      "function transform(event) { return event.a.map((x) => x) }",
      "function transform(event) { return { at: new Date() } }",
      "function transform(event) { return { n: Math.random() } }",
      "function transform(event) { return /a/.test(event.a) ? event : null }",
      "function transform(event) { return { n: 10n } }",
      "function transform(event) { while (true) {} }",
      "function transform(event) { return { toJSON: event.a } }",
      "function transform(event) { return { __proto__: event } }",
      "const Number = 1; function transform(event) { return { a: event.a } }",
      "function transform(String) { return { a: String(1) } }",
      "function* transform(event) { return event }",
      "function transform(event) { event.a = 1; return event }",
    ])
      expect([more, await isMapped(more)]).to.deep.equal([more, false])
    const plain = "function transform(event) { return event }"
    for (const input of [
      { pattern: "(a+)+$" },
      { $ref: "#" },
      { anyOf: [{ type: "string" }] },
      { properties: { a: { pattern: "a" } } },
      false,
    ])
      expect([input, await isMapped(plain, input)]).to.deep.equal([input, false])
  })

  it("leave to the isolate what it would take too long to do here", async () => {
    const program = await programOf(
      sandbox,
      `function transform(event) { return [${Array.from({ length: 40 }, () => "event").join(",")}] }`,
    )
    expect(mapped(callOf(program, { a: "x".repeat(100) }))).to.not.equal(undefined)
    expect(mapped(callOf(program, { a: "x".repeat(5_000) }))).to.equal(undefined)
    const plain = await programOf(sandbox, null)
    expect(mapped(callOf(plain, { a: "x".repeat(20_000) }))).to.equal(undefined)
  })

  it("are read as nothing where they are not what the compiler writes", () => {
    let deep: object = { do: "event" }
    for (let level = 0; level < 200; level++) deep = { do: "not", of: deep }
    for (const input of [
      { check: null, result: { do: "run", code: "1" } },
      { check: { pattern: "a" }, result: null },
      { check: null, result: deep },
      1,
    ])
      expect(readMapping(input)).to.equal(null)
    expect(readMapping({ check: null, result: { do: "event" } })).to.deep.equal({ check: null, result: { do: "event" } })
  })
})
