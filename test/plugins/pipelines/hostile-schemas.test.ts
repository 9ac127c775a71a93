// Request schemas with hostile texts in every place for text, sent through the operation open to members and read tokens. Each
// text tries to escape the generated code. It never runs, neither in the service's processes nor in an isolate.
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { Bench, post } from "../../pipeline/bench.ts"

/** Ends a comment, a text in either kind of quotes, a regular expression, an index and a function. Throws if it runs. */
const escapes = [
  "*/}+function(){throw(new(Error)('PWN-'+typeof(process)))}()+function(){/*",
  "*/;throw new Error('PWN-'+typeof process);/*",
  "\"];throw new Error('PWN-'+typeof process);//",
  "';throw new Error('PWN-'+typeof process);//",
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the text is meant to be one in generated code.
  "${(()=>{throw new Error('PWN-'+typeof process)})()}",
  "/;throw new Error('PWN-'+typeof process);//",
  "\u2028throw new Error('PWN-'+typeof process);//",
]

/** Places for text. `refusesComments`: refused there if the text could end ajv's comment around an identifier. */
const places: Record<string, { schema: (text: string) => object; refusesComments?: string }> = {
  "$id of the root": { schema: ($id) => ({ $id }), refusesComments: "/$id" },
  "$id of a property": { schema: ($id) => ({ properties: { a: { $id } } }), refusesComments: "/properties/a/$id" },
  "$id in $defs": { schema: ($id) => ({ $defs: { a: { $id } }, $ref: "#/$defs/a" }), refusesComments: "/$defs/a/$id" },
  "$id in definitions": {
    schema: ($id) => ({ definitions: { a: { $id } }, $ref: "#/definitions/a" }),
    refusesComments: "/definitions/a/$id",
  },
  "$id in default": { schema: ($id) => ({ default: { $id }, $ref: "#/default" }), refusesComments: "/default/$id" },
  "$id in const": { schema: ($id) => ({ const: { $id }, properties: { a: { $ref: "#/const" } } }), refusesComments: "/const/$id" },
  "$id in enum": { schema: ($id) => ({ enum: [{ $id }], properties: { a: { $ref: "#/enum/0" } } }), refusesComments: "/enum/0/$id" },
  "$id in examples": { schema: ($id) => ({ examples: [{ $id }], $ref: "#/examples/0" }), refusesComments: "/examples/0/$id" },
  "$id in an unknown keyword": { schema: ($id) => ({ "x-a": { b: { $id } }, $ref: "#/x-a/b" }), refusesComments: "/x-a/b/$id" },
  "$id of draft-07": {
    schema: ($id) => ({ $schema: "http://json-schema.org/draft-07/schema#", properties: { a: { $id } } }),
    refusesComments: "/properties/a/$id",
  },
  $schema: { schema: ($schema) => ({ $schema }) },
  "$schema of a property": { schema: ($schema) => ({ properties: { a: { $schema } } }) },
  $anchor: { schema: ($anchor) => ({ properties: { a: { $anchor } } }) },
  $dynamicAnchor: { schema: ($dynamicAnchor) => ({ properties: { a: { $dynamicAnchor } } }) },
  $ref: { schema: ($ref) => ({ $ref }) },
  $comment: { schema: ($comment) => ({ $comment }) },
  title: { schema: (title) => ({ title, description: title }) },
  "name of a definition": { schema: (name) => ({ $defs: { [name]: { type: "object" } }, $ref: `#/$defs/${encodeURIComponent(name)}` }) },
  "name of a property": { schema: (name) => ({ properties: { [name]: { type: "string" } } }) },
  "name of a required property": { schema: (name) => ({ required: [name] }) },
  "name of a dependency": { schema: (name) => ({ dependentRequired: { [name]: [name] }, dependentSchemas: { [name]: {} } }) },
  "name beside additionalProperties": { schema: (name) => ({ properties: { [name]: {} }, additionalProperties: false }) },
  "name beside unevaluatedProperties": { schema: (name) => ({ properties: { [name]: {} }, unevaluatedProperties: false }) },
  "name of an unknown keyword": { schema: (name) => ({ [name]: { type: "string" } }) },
  pattern: { schema: (pattern) => ({ properties: { a: { type: "string", pattern } } }) },
  patternProperties: { schema: (pattern) => ({ patternProperties: { [pattern]: { type: "string" } } }) },
  format: { schema: (format) => ({ properties: { a: { type: "string", format } } }) },
  type: { schema: (type) => ({ properties: { a: { type } } }) },
  const: { schema: (value) => ({ properties: { a: { const: value }, b: { const: { [value]: value } } } }) },
  enum: { schema: (value) => ({ properties: { a: { enum: [value, { [value]: value }] } } }) },
  default: { schema: (value) => ({ properties: { a: { default: value } } }) },
  discriminator: {
    schema: (value) => ({ discriminator: { propertyName: value }, oneOf: [{ properties: { [value]: { const: value } } }] }),
  },
  contentMediaType: { schema: (value) => ({ properties: { a: { contentMediaType: value, contentEncoding: value } } }) },
}

interface Validated {
  readonly ok: boolean
  readonly findings: readonly { readonly pointer: string; readonly message: string }[]
}

describe("hostile request schemas", () => {
  let host: TestHost
  let bench: Bench
  before(async () => {
    host = await testHost()
    bench = new Bench(host)
  })
  after(() => host.stop())

  const documentOf = (schema: object) => ({
    name: "Hostile",
    state: "active",
    auth_mode: "none",
    request_schema: { type: "object", ...schema },
    pipeline: [{ type: "respond", body: {} }],
  })
  const validate = async (schema: object) => {
    const { status, body } = await host.api<Validated>("POST", "/v1/event-pipelines/validate", { document: documentOf(schema) })
    expect(status).to.equal(200)
    return body
  }

  for (const [place, { schema, refusesComments }] of Object.entries(places)) {
    it(`run nothing from ${place}`, async () => {
      for (const text of escapes) {
        const { ok, findings } = await validate(schema(text))
        // A message quotes the text as sent; running code would have reported the type of `process`.
        expect(JSON.stringify(findings)).to.not.match(/PWN-(object|undefined)/)
        if (refusesComments === undefined || !text.includes("*/")) continue
        expect(ok).to.equal(false)
        expect(findings.map(({ pointer }) => pointer)).to.include(`/request_schema${refusesComments}`)
      }
    })
  }

  it("judge events by what they say, where what they say is allowed", async () => {
    const [, name = ""] = escapes
    const pipeline = await bench.make({
      ...documentOf({ properties: { [name]: { const: name } }, required: [name], additionalProperties: false }),
      name: "Names that end comments",
    })
    expect((await post(pipeline.inbound_url, { [name]: name })).status).to.equal(200)
    const refused = await post(pipeline.inbound_url, { [name]: "other" })
    expect(refused.status).to.equal(400)
    expect(refused.text).to.not.match(/PWN-(object|undefined)/)
  })
})
