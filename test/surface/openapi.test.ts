// The OpenAPI document of the whole bench, checked against its own schemas.
import { Ajv2020 } from "ajv/dist/2020.js"
import formats from "ajv-formats"
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import { Operations } from "../../core/contract/operation.ts"
import { Routes } from "../../core/contract/route.ts"

interface Entry {
  operationId: string
  summary: string
  description: string
  tags: string[]
  security?: unknown[]
  parameters: { $ref?: string; name?: string; in?: string }[]
  requestBody?: { content: Record<string, { schema: object; example?: unknown; examples?: Record<string, { value: unknown }> }> }
  responses: Record<
    string,
    { content?: Record<string, { schema: object; example?: unknown; examples?: Record<string, { value: unknown }> }> }
  >
}
interface Document {
  openapi: string
  info: Record<string, unknown>
  servers: { url: string }[]
  tags: { name: string; description: string }[]
  paths: Record<string, Record<string, Entry>>
  components: { schemas: Record<string, unknown>; securitySchemes: Record<string, unknown> }
}

describe("the OpenAPI document", () => {
  let host: TestHost
  let document: Document
  let entries: Entry[]
  before(async () => {
    host = await testHost()
    document = (await host.api<Document>("GET", "/openapi.json")).body
    entries = Object.values(document.paths).flatMap((item) => Object.values(item))
  })
  after(() => host.stop())

  it("has a success of each operation; of what only sends a browser on, the redirect", () => {
    const without = entries.filter(({ responses }) => !Object.keys(responses).some((status) => /^(2..|303)$/.test(status)))
    expect(without).to.deep.equal([])
    expect(Object.keys(document.paths)).to.include.members(["/v1/datasets", "/v1/inbound/{endpoint_id}"])
  })

  it("lists the refusals of slow requests and long headers at each operation and route", () => {
    const without = entries.filter(({ responses }) => !("408" in responses && "431" in responses))
    expect(without.map(({ operationId }) => operationId)).to.deep.equal([])
  })

  it("says version, licence, contact and server, and how to authenticate", () => {
    expect(document.openapi).to.equal("3.1.0")
    expect(document.info).to.deep.include({ version: "2026-09-29", license: { name: "Apache-2.0", identifier: "Apache-2.0" } })
    expect(document.info).to.include.keys("contact", "description", "summary")
    expect(document.servers[0]?.url).to.equal(host.url)
    expect(document.components.securitySchemes).to.have.nested.property("bearer.scheme", "bearer")
  })

  it("describes every operation, with its headers and a tag that is explained", () => {
    const operations = host.runtime.registry.items(Operations)
    const routes = host.runtime.registry.items(Routes).filter(({ document }) => document)
    const names = [...operations, ...routes].map(({ name }) => name)
    expect(entries.map(({ operationId }) => operationId)).to.have.members(["inbound.receive", ...names])
    const explained = document.tags.filter(({ description }) => description.length > 5).map(({ name }) => name)
    for (const { operationId, description, summary, tags, parameters } of entries) {
      expect(description.length, operationId).to.be.greaterThan(20)
      expect(summary, operationId).to.match(/\.$/)
      expect(explained).to.include(tags[0])
      expect(JSON.stringify(parameters), operationId).to.contain("RequestId")
    }
    for (const { name, http, hints } of operations) {
      const parameters = JSON.stringify(document.paths[http.path]?.[http.method.toLowerCase()]?.parameters)
      expect(parameters, name).to.contain("OrganizationId")
      expect(parameters.includes("IdempotencyKey"), name).to.equal(http.method === "POST" && !hints.readOnly)
    }
  })

  it("lists what the headers that any operation takes can be refused with", () => {
    const text = (entry: Entry | undefined, status: string) => JSON.stringify(entry?.responses[status] ?? {})
    const operations = host.runtime.registry.items(Operations)
    const tagged: string[] = []
    for (const { name, http, hints } of operations) {
      const entry = document.paths[http.path]?.[http.method.toLowerCase()]
      expect(text(entry, "404"), name).to.contain("not_found")
      if (http.method === "POST" && !hints.readOnly) expect(text(entry, "409"), name).to.contain("aborted")
      const matches = JSON.stringify(entry?.parameters).includes("/IfMatch")
      if (matches) tagged.push(name)
      if (!hints.readOnly) expect(text(entry, matches ? "409" : "400"), name).to.contain(matches ? "aborted" : "failed_precondition")
    }
    // The tag equals that of a read at the same path. The read of a phase has no revision.
    const read = new Set(operations.flatMap(({ http }) => (http.method === "GET" ? [http.path] : [])))
    const conditional = operations.filter(
      ({ name, http, input }) =>
        name !== "workstreams.update_phase" && read.has(http.path) && "expected_revision" in ((input as { shape?: object }).shape ?? {}),
    )
    expect(tagged)
      .to.include("datasets.update")
      .and.to.have.members(conditional.map(({ name }) => name))
  })

  it("describes the inbound endpoint, with the header that marks a test and no key", () => {
    const inbound = document.paths["/v1/inbound/{endpoint_id}"]?.["post"]
    expect(inbound?.security).to.deep.equal([{}])
    expect(inbound?.parameters.map(({ name }) => name)).to.include.members(["endpoint_id", "X-Service-Test", "X-Signature-256"])
    expect(Object.keys(inbound?.requestBody?.content ?? {})).to.include.members([
      "application/json",
      "application/x-www-form-urlencoded",
      "text/plain",
    ])
    expect(inbound?.responses).to.include.keys("200", "400", "401", "404", "413", "415", "429", "500", "503")
  })

  it("describes the endpoints of published pages, which need no key, and the batch that the beacon sends", () => {
    expect(document.paths["/p/{org}/{page}"]).to.have.all.keys("get", "post")
    expect(document.paths["/p/{org}/{page}"]?.["get"]?.security).to.deep.equal([{}])
    expect(Object.keys(document.paths["/p/{org}/{page}"]?.["post"]?.responses ?? {})).to.include.members(["303", "404"])
    expect(document.paths["/v1/beacon.js"]?.["get"]?.summary).to.match(/script/)
    const body = document.paths["/v1/inbound/{endpoint_id}"]?.["post"]?.requestBody?.content["application/json"]
    expect(body).to.have.nested.property("examples.page_events.value.events")
  })

  it("holds schemas that compile, and examples that they accept", () => {
    const ajv = new Ajv2020({ strict: false, allErrors: true })
    formats.default(ajv)
    ajv.addSchema({ $id: "doc", components: document.components })
    // Most errors share a schema, and compiling it takes longer than all its uses.
    const validators = new Map<string, ReturnType<typeof ajv.compile>>()
    const validatorOf = (schema: object) => {
      const text = JSON.stringify(schema).replaceAll('"#/', '"doc#/')
      const validator = validators.get(text) ?? ajv.compile(JSON.parse(text) as object)
      validators.set(text, validator)
      return validator
    }
    let examples = 0
    for (const entry of entries) {
      const contents = [entry.requestBody, ...Object.values(entry.responses)].flatMap((part) => Object.values(part?.content ?? {}))
      for (const { schema, example, examples: several = {} } of contents) {
        const validate = validatorOf(schema)
        for (const item of [example, ...Object.values(several).map(({ value }) => value)].filter((value) => value !== undefined)) {
          examples++
          expect(validate(item), `${entry.operationId}: ${JSON.stringify(validate.errors)} in ${JSON.stringify(item)}`).to.equal(true)
        }
      }
    }
    expect(examples).to.be.greaterThan(entries.length)
    expect(document.paths["/v1/api-keys"]?.["post"]?.requestBody?.content["application/json"]?.examples).to.have.nested.property(
      "example_2.value.kind",
      "token",
    )
  })

  it("states the object that a union has as default in the description, since generators refuse such a default", () => {
    const unions: string[] = []
    const look = (value: unknown, path: string): void => {
      if (typeof value !== "object" || value === null) return
      const { default: initial, oneOf, anyOf } = value as { default?: unknown; oneOf?: unknown; anyOf?: unknown }
      if (Array.isArray(oneOf ?? anyOf) && typeof initial === "object" && initial !== null) unions.push(path)
      for (const [key, inner] of Object.entries(value)) look(inner, `${path}/${key}`)
    }
    look(document, "")
    expect(unions).to.deep.equal([])
    const { schemas } = document.components
    const goal = (schemas["ExperimentsCreateBody"] as { properties: Record<string, { description: string }> }).properties["goal"]
    expect(goal?.description).to.include('Default: `{"kind":"lead"}`.')
    expect(JSON.stringify(schemas["IntegrationAppsCreateBody"])).to.include(JSON.stringify('Default: `{"in":"bearer"}`.').slice(1, -1))
  })

  it("keeps inputs and outputs apart: what may be left out of one is always in the other", () => {
    const schemas = document.components.schemas as Record<string, { required?: string[]; additionalProperties?: unknown }>
    expect(schemas["EventPipelinesCreateBody"]?.required).to.deep.equal(["name"])
    expect(schemas["EventPipelinesCreateBody"]?.additionalProperties).to.equal(false)
    expect(schemas["EventPipelinesCreateOutput"]?.required).to.include.members(["id", "state", "warnings"])
    expect(schemas["EventPipelinesCreateOutput"]).not.to.have.property("additionalProperties")
  })
})
