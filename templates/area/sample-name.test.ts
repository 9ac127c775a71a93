// The area sample_name over HTTP: made, listed, read, removed, and what is refused.
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import plugin from "./index.ts"

interface Item {
  readonly id: string
  readonly name: string
}

describe("the area sample_name", () => {
  let host: TestHost
  before(async () => {
    host = await testHost({ plugins: [plugin] })
  })
  after(() => host.stop())

  const make = async (name: string) => (await host.api<Item>("POST", "/v1/sample-name", { name })).body
  const names = async (query = "") => {
    const { body } = await host.api<{ sample_name: Item[]; next_cursor: string }>("GET", `/v1/sample-name${query}`)
    return { names: body.sample_name.map(({ name }) => name), cursor: body.next_cursor }
  }

  it("keeps what is made, and lists it newest first, page by page", async () => {
    const one = await make("One")
    await make("Two")
    await make("Three")
    expect((await host.api<Item>("GET", `/v1/sample-name/${one.id}`)).body).to.deep.include({ id: one.id, name: "One" })
    const first = await names("?limit=2")
    expect(first.names).to.deep.equal(["Three", "Two"])
    expect((await names(`?limit=2&cursor=${first.cursor}`)).names).to.deep.equal(["One"])
  })

  it("removes one, and nothing else", async () => {
    const gone = await make("Gone")
    const before = (await names()).names
    expect((await host.api("DELETE", `/v1/sample-name/${gone.id}`)).status).to.equal(200)
    expect((await names()).names).to.deep.equal(before.filter((name) => name !== "Gone"))
    expect((await host.api("DELETE", `/v1/sample-name/${gone.id}`)).status).to.equal(404)
  })

  it("refuses an empty name and an unknown field, naming it, and keeps neither", async () => {
    const before = (await names()).names
    for (const [input, field] of [
      [{ name: "" }, "name"],
      [{ name: "One", colour: "red" }, "colour"],
    ] as const) {
      const { status, body } = await host.api<{ message: string }>("POST", "/v1/sample-name", input)
      expect(status).to.equal(400)
      expect(body.message).to.include(field)
    }
    expect((await names()).names).to.deep.equal(before)
  })
})
