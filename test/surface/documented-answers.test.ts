// Hostile requests from one seed. Each answer has a status and a body documented in OpenAPI for its operation.
import { Ajv2020 } from "ajv/dist/2020.js"
import formats from "ajv-formats"
import { expect } from "chai"
import fc from "fast-check"
import { type TestHost, testHost } from "#core/testing"
import { Operations } from "../../core/contract/operation.ts"
import { Bench } from "../pipeline/bench.ts"
import { byTier, seed } from "../tier.ts"

type Responses = Record<string, { $ref?: string; content?: Record<string, { schema: object }> }>
interface Document {
  paths: Record<string, Record<string, { responses: Responses } | undefined> | undefined>
  components: { responses: Responses }
}

const long = "x".repeat(1_100_000)
const texts = [
  "",
  " ",
  "\0",
  "\ud800",
  "ß",
  "\u202e",
  "💥".repeat(50),
  "__proto__",
  "$set",
  "_bsontype",
  "id",
  "0",
  "null",
  "a".repeat(5_000),
]
const value = fc.oneof(
  fc.constantFrom<unknown>(null, true, 0, -1, 1.5, 1e300, 2 ** 53, [], {}, [[]], ...texts),
  fc.jsonValue({ maxDepth: 3 }),
  fc.dictionary(fc.constantFrom(...texts, "email", "rows", "slug", "_envelope", "is_test"), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 6 }),
)
const shaped = fc.oneof(value, fc.record({ rows: fc.oneof(value, fc.array(value, { maxLength: 4 })) }), fc.record({ email: value }))
const body = fc.oneof(
  shaped.map((input) => JSON.stringify(input) ?? ""),
  fc.string({ maxLength: 60 }),
  fc.constantFrom(
    ...[
      "",
      "{",
      "[",
      "nul",
      '{"rows":[{"a":9007199254740993}]}',
      '{"a":1,"a":2}',
      '{"rows":[],"rows":{}}',
      '"text"',
      "[".repeat(2_000),
      "a=1&a=2",
      "\ufeff{}",
    ],
    ...[
      `{"rows":"${long}"}`,
      `{"rows":[${"{},".repeat(1_001)}{}]}`,
      '{"rows":[{"__proto__":{"a":1}}]}',
      '--x\r\nContent-Disposition: form-data; name="a"\r\n\r\nb\r\n--x',
    ],
  ),
)
const type = fc.constantFrom(
  ...[
    "application/json",
    "application/json",
    "application/json",
    "text/plain",
    "application/json; charset=utf-16",
    "multipart/form-data; boundary=x",
  ],
  ...["multipart/form-data", "application/x-www-form-urlencoded", "application/xml", "image/png", "", "a/b; c"],
)
const headers = fc.constantFrom<Record<string, string>[]>(
  ...[{}, {}, {}, { "content-encoding": "gzip" }, { "content-encoding": "zip" }, { "idempotency-key": "" }, { "idempotency-key": "a" }],
  ...[{ "idempotency-key": "k".repeat(300) }, { "if-match": '"x"' }, { "x-organization-id": "nobody" }, { accept: "image/png" }],
)
const method = fc.constantFrom("POST", "POST", "POST", "POST", "POST", "GET", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS")

describe("an answer to a hostile request", () => {
  let host: TestHost
  let document: Document
  let ajv: Ajv2020
  let inbound: string
  before(async () => {
    const generous = { MILLRACE_RATE_LIMITS_KEY_PER_MINUTE: "100000", MILLRACE_RATE_LIMITS_ADDRESS_PER_MINUTE: "100000" }
    host = await testHost({ env: generous })
    document = (await host.api<Document>("GET", "/openapi.json")).body
    ajv = new Ajv2020({ strict: false, validateFormats: true })
    formats.default(ajv)
    ajv.addSchema(document, "api")
    await host.api("POST", "/v1/datasets", { name: "People" })
    const step = { type: "dataset.write", dataset_slug: "events", key: "email" }
    inbound = new URL((await new Bench(host).make({ name: "Events", pipeline: [step] })).inbound_url).pathname
  })
  after(() => host.stop())

  async function checked(
    template: string,
    path: string,
    input: { method: string; body: string; type: string; headers: Record<string, string> },
  ) {
    const answer = await fetch(host.url + path, {
      method: input.method,
      redirect: "manual",
      headers: { authorization: `Bearer ${host.adminKey}`, ...(input.type === "" ? {} : { "content-type": input.type }), ...input.headers },
      ...(input.method === "GET" || input.method === "HEAD" ? {} : { body: Buffer.from(input.body, "utf8") }),
    })
    const text = await answer.text()
    const item = document.paths[template] ?? {}
    if (answer.status === 405) return void expect(answer.headers.get("allow"), input.method).to.be.a("string")
    // Inbound reads a body before it checks the method. HEAD reads as GET does, and OPTIONS names the methods.
    const operation = item[input.method.toLowerCase()] ?? item["post"]
    if (input.method === "HEAD" || input.method === "OPTIONS") return
    const documented = operation?.responses[String(answer.status)]
    expect(
      documented,
      `${input.method} ${template} answered ${answer.status}, which is not documented: ${text.slice(0, 300)}`,
    ).not.to.equal(undefined)
    const response = documented?.$ref ? document.components.responses[documented.$ref.split("/").at(-1) ?? ""] : documented
    const [media = ""] = (answer.headers.get("content-type") ?? "").split(";")
    const schema = response?.content?.[media]?.schema
    if (text === "" && !response?.content) return
    expect(schema, `${answer.status} ${media} is not documented: ${text.slice(0, 300)}`).not.to.equal(undefined)
    const absolute = JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"api#/')) as object
    const isValid = ajv.validate(absolute, JSON.parse(text))
    expect(isValid, `${answer.status}: ${JSON.stringify(ajv.errors?.slice(0, 2))} of ${text.slice(0, 300)}`).to.equal(true)
    expect(answer.status, text).to.be.lessThan(500)
  }

  for (const [template, pathOf] of [
    ["/v1/inbound/{endpoint_id}", () => inbound],
    ["/v1/datasets/{slug}/rows", () => "/v1/datasets/people/rows"],
  ] as const) {
    it(`has a documented status and body at ${template}`, async () => {
      const request = fc.record({ method, body, type, headers })
      await fc.assert(
        fc.asyncProperty(request, (input) => checked(template, pathOf(), input)),
        { seed, numRuns: byTier({ fast: 100, slow: 300, soak: 5_000 }), endOnFailure: true },
      )
    })
  }

  it("has a documented status if the head is too large, or the request is not complete in time", async () => {
    const answer = await fetch(`${host.url}/v1/datasets`, { headers: { "x-long": "x".repeat(70_000) } })
    expect([answer.status, ((await answer.json()) as { code: string }).code]).to.deep.equal([431, "resource_exhausted"])
    const operations = host.runtime.registry.items(Operations).map(({ http }) => [http.path, http.method.toLowerCase()] as const)
    for (const [path, name] of [...operations, ["/v1/inbound/{endpoint_id}", "post"] as const])
      expect(document.paths[path]?.[name]?.responses, path).to.include.keys("408", "431")
  })
})
