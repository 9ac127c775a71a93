// Fields with invalid column names are stored under other names, and no value is lost.
import { expect } from "chai"
import type { TestHost } from "#core/testing"
import { Bench, post } from "../bench.ts"
import { onStoresInTurn } from "../stores.ts"

onStoresInTurn("a field that cannot be a column", ({ start }) => {
  let host: TestHost
  let bench: Bench
  let count = 0

  before(async () => {
    host = await start()
    bench = new Bench(host)
  })

  /** Sends a body to a pipeline that writes the whole event. Returns its row and its entry. */
  async function stored(body: string | object, more: object = {}, headers: Record<string, string> = {}) {
    const dataset_slug = `renamed-${++count}`
    const pipeline = await bench.make({
      name: `Renamed ${count}`,
      pipeline: [{ id: "save", type: "dataset.write", dataset_slug, ...more }],
    })
    const answer = await post(pipeline.inbound_url, body, headers)
    expect(answer.status, answer.text).to.equal(200)
    const values = (await bench.rows(dataset_slug))[0]?.values ?? {}
    return { values, warnings: (await bench.newest(pipeline.slug)).warnings }
  }

  it("is renamed with a note in the entry, as Gravity Forms names its fields", async () => {
    const { values, warnings } = await stored({ id: "17", "1.3": "Zoe", "1.6": "Miller", "2": "zoe@example.com" })
    expect(values).to.include({ "1_3": "Zoe", "1_6": "Miller", "2": "zoe@example.com" })
    expect(warnings).to.deep.equal([
      { pointer: "/1.3", message: 'Stored in the column "1_3": the name holds a dot; write it with _.' },
      { pointer: "/1.6", message: 'Stored in the column "1_6": the name holds a dot; write it with _.' },
    ])
  })

  it("takes the next free name, so that no value is overwritten", async () => {
    const fields = { "1.3": "a", "1_3": "b", "1_3_2": "c", "1\u0000_3": "n" }
    const { values, warnings } = await stored(fields)
    expect(values).to.include({ "1_3": "b", "1_3_2": "c", "1_3_3": "a", "1__3": "n" })
    expect(warnings.map(({ pointer }) => pointer).sort()).to.deep.equal(["/1.3", "/1\ufffd_3"])
  })

  const names: readonly [name: string, column: string][] = [
    ["$x", "_x"],
    ["", "_"],
    ["__proto__", "___proto__"],
    ["a\u0000b", "a_b"],
    ["..", "__"],
    ["n".repeat(300), "n".repeat(256)],
    ["page.url", "page_url_2"],
    ["is.test", "is_test_2"],
  ]
  for (const [name, column] of names) {
    it(`is renamed in JSON and in a form: ${JSON.stringify(name.slice(0, 20))}`, async () => {
      // An object literal would set the prototype.
      const json = `{${JSON.stringify(name)}:"kept","other":"too"}`
      const form = new URLSearchParams([
        [name, "kept"],
        ["other", "too"],
      ]).toString()
      const requests = [await stored(json), await stored(form, {}, { "content-type": "application/x-www-form-urlencoded" })]
      for (const { values, warnings } of requests) {
        expect(values).to.include({ [column]: "kept", other: "too", is_test: false })
        expect(warnings).to.have.length(1)
      }
    })
  }

  it("can be the key of a keyed write", async () => {
    const { values } = await stored({ "contact.email": "zoe@example.com" }, { key: "contact_email" })
    expect(values).to.include({ contact_email: "zoe@example.com" })
  })

  it("has the sender's name in transforms and templates", async () => {
    const pipeline = await bench.make({
      name: "By name",
      transform_js: 'function transform(event) { return { ...event, first: event["1.3"] } }',
      pipeline: [
        { type: "dataset.write", dataset_slug: "by-name" },
        { type: "respond", body: { first: "{{ event.first }}", last: '{{ event["1.6"] }}', sent: '{{ payload["1.6"] }}' } },
      ],
    })
    const answer = await post(pipeline.inbound_url, { "1.3": "Zoe", "1.6": "Miller" })
    expect(answer.body).to.deep.equal({ first: "Zoe", last: "Miller", sent: "Miller" })
    expect((await bench.rows("by-name"))[0]?.values).to.include({ "1_3": "Zoe", "1_6": "Miller", first: "Zoe" })
  })

  it("is renamed in each element of for_each, and what a transform makes too", async () => {
    const item = { for_each: "event.people" }
    const { values } = await stored({ people: [{ "given.name": "Zoe" }] }, item)
    expect(values).to.include({ given_name: "Zoe" })
  })

  it("is renamed inside an object too, if no store holds the name", async () => {
    const { values } = await stored('{"a":[{"b":{"n\\u0000":1,"n_":2}}],"t":"x\\\\u0000\\"\\u0000:"}')
    expect(values).to.deep.include({ a: [{ b: { n__2: 1, n_: 2 } }], t: 'x\\u0000"\0:' })
  })

  it("is named in a bounded number of notes", async () => {
    const fields = Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`f.${n}`, n]))
    const { values, warnings } = await stored(fields)
    expect(values).to.include({ f_0: 0, f_99: 99 })
    expect(warnings).to.have.length(21)
    expect(warnings.at(-1)?.message).to.equal("80 further fields are stored in columns of other names.")
  })

  it("is refused by POST rows with its place, since the caller reads the answer", async () => {
    await host.api("POST", "/v1/datasets", { name: "Given", slug: "given" })
    const { status, body } = await host.api<{ details: { fields: { path: string }[] } }>("POST", "/v1/datasets/given/rows", {
      rows: [{ fine: 1 }, { "1.3": "Zoe" }],
    })
    expect([status, body.details.fields[0]?.path]).to.deep.equal([400, "rows.1.1.3"])
  })
})
