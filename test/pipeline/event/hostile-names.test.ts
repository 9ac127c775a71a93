// Names and values that libraries may misinterpret, at every kind of entry. Both stores store and return the same.
import { expect } from "chai"
import type { TestHost } from "#core/testing"
import { hostileJson } from "../../hostile-json.ts"
import { Bench, type Made } from "../bench.ts"
import { onBothStores } from "../stores.ts"

interface Row {
  readonly id: string
  readonly values: Record<string, unknown>
}

/** Answers of the first store by title, for comparison with the second. */
const answers = new Map<string, unknown>()

function sameOnBoth(title: string, answer: unknown): void {
  if (answers.has(title)) expect(answer, `${title}, compared with the other store`).to.deep.equal(answers.get(title))
  else answers.set(title, answer)
}

const refusedName = "__proto__"
const forEachCase = (check: (value: object, title: string) => Promise<void>) =>
  Promise.all(hostileJson.map(([title, value]) => check(value, title)))

const names = ["_bsontype", "toBSON", "then", "constructor", "toJSON", "_id", "organization_id", "$where"]

onBothStores("names that look like something else", ({ start }) => {
  let host: TestHost
  let bench: Bench
  let createdPipeline: Made

  before(async () => {
    host = await start()
    bench = new Bench(host)
    createdPipeline = await bench.make({ name: "Any", pipeline: [{ type: "respond", body: "{{ event }}" }] })
  })

  async function payloadOf(response: Response) {
    expect(response.status, await response.clone().text()).to.equal(200)
    const { id } = await bench.newest(createdPipeline.slug)
    const { body } = await host.api<{ body: string; headers: Record<string, string>; query: Record<string, string> }>(
      "GET",
      `/v1/event-pipelines/${createdPipeline.slug}/executions/${id}/payload`,
    )
    return body
  }

  it("are kept in a JSON body, which is answered as it came", async () => {
    await forEachCase(async (value, title) => {
      const response = await host.send(createdPipeline, value)
      expect(response.status, `${title} ${JSON.stringify(response.body)}`).to.equal(200)
      expect(response.body, title).to.deep.equal(value)
    })
  })

  it("are kept in forms, queries and headers", async () => {
    for (const name of names) {
      const post = (query: string, body: string, headers: Record<string, string>) =>
        fetch(`${createdPipeline.inbound_url}${query}`, { method: "POST", body, headers })
      const encoded = encodeURIComponent(name)
      const form = await payloadOf(await post("", `${encoded}=x&${encoded}=y&a=1`, { "content-type": "application/x-www-form-urlencoded" }))
      sameOnBoth(`form ${name}`, form.body)
      const query = await payloadOf(await post(`?${encoded}=x&b=2`, "{}", { "content-type": "application/json" }))
      sameOnBoth(`query ${name}`, query.query)
      expect(query.query, name).to.deep.include({ [name]: "x" })
      const { headers } = await payloadOf(await post("", "{}", { "content-type": "application/json", [name]: "x" }))
      expect(headers, name).to.deep.include({ [name.toLowerCase()]: "x" })
    }
  })

  it("are columns of rows, and values of columns", async () => {
    await host.api("POST", "/v1/datasets", { name: "Hostile" })
    await forEachCase(async (value, title) => {
      const response = await host.api<{ row_ids: string[] }>("POST", "/v1/datasets/hostile/rows", { rows: [{ _bsontype: value, value }] })
      expect(response.status, `${title} ${JSON.stringify(response.body)}`).to.equal(200)
      const filter = encodeURIComponent(JSON.stringify({ id: response.body.row_ids[0] }))
      const { body } = await host.api<{ rows: Row[] }>("GET", `/v1/datasets/hostile/rows?filter=${filter}`)
      expect(body.rows[0]?.values, title).to.deep.include({ _bsontype: value, value })
    })
    for (const name of [...names, refusedName]) {
      const body = `{"rows":[{${JSON.stringify(name)}:1}]}`
      const response = await fetch(`${host.url}/v1/datasets/hostile/rows`, {
        method: "POST",
        headers: { authorization: `Bearer ${host.adminKey}`, "content-type": "application/json" },
        body,
      })
      sameOnBoth(`column ${name}`, response.status)
      expect(response.status, name).to.be.lessThan(500)
    }
  })

  it("are kept in settings: schemas of pipelines and evidence of consents", async () => {
    const properties = Object.fromEntries(names.map((name) => [name, { type: "string" }]))
    const request_schema = {
      $id: "https://example.com/a.b",
      properties: { ...properties, again: { $ref: "#/$defs/again" } },
      $defs: { again: {} },
    }
    const pipeline = await bench.make({ name: "Schema", request_schema, pipeline: [{ type: "respond", body: "{{ event }}" }] })
    const stored = await host.api<{ request_schema: object }>("GET", `/v1/event-pipelines/${pipeline.slug}`)
    expect(stored.body.request_schema).to.deep.equal(request_schema)
    expect((await host.send(pipeline, { _bsontype: "x", again: 1 })).status).to.equal(200)
    expect((await host.send(pipeline, { _bsontype: 1 })).status).to.equal(400)

    const evidence = Object.fromEntries(hostileJson.map(([, value], index) => [`case_${index}`, value]))
    const consent = {
      email: "ada@example.com",
      kind: "given",
      purpose: "marketing",
      channel: "email",
      source: "form",
      wording: "Yes",
      evidence: { _bsontype: "ObjectId", ...evidence },
    }
    const recorded = await host.api<{ evidence: object }>("POST", "/v1/consents", consent)
    sameOnBoth("consent", recorded.status)
    expect(recorded.status, JSON.stringify(recorded.body)).to.equal(200)
    const { body } = await host.api<{ consents: { evidence: object }[] }>("GET", "/v1/consents?email=ada@example.com")
    expect(body.consents[0]?.evidence).to.deep.equal(consent.evidence)
  })
})
