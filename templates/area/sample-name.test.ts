// The area sample_name over HTTP.
import { expect } from "chai"
import { type TestHost, testHost } from "#core/testing"
import plugin from "./index.ts"

interface Item {
  readonly id: string
  readonly name: string
  readonly revision: number
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

  it("lists items newest first, page by page", async () => {
    const one = await make("One")
    await make("Two")
    await make("Three")
    expect((await host.api<Item>("GET", `/v1/sample-name/${one.id}`)).body).to.deep.include({ id: one.id, name: "One" })
    const first = await names("?limit=2")
    expect(first.names).to.deep.equal(["Three", "Two"])
    expect((await names(`?limit=2&cursor=${first.cursor}`)).names).to.deep.equal(["One"])
  })

  it("changes an item of the given revision alone", async () => {
    const item = await make("Before")
    const change = { name: "After", expected_revision: item.revision }
    expect((await host.api<Item>("PATCH", `/v1/sample-name/${item.id}`, change)).body).to.include({ name: "After", revision: 2 })
    expect((await host.api("PATCH", `/v1/sample-name/${item.id}`, change)).status).to.equal(409)
  })

  it("deletes one item, and restores it from the trash", async () => {
    const gone = await make("Gone")
    const before = (await names()).names
    expect((await host.api("DELETE", `/v1/sample-name/${gone.id}`)).status).to.equal(200)
    expect((await names()).names).to.deep.equal(before.filter((name) => name !== "Gone"))
    expect((await host.api("DELETE", `/v1/sample-name/${gone.id}`)).status).to.equal(404)
    expect((await host.api("POST", `/v1/trash/${gone.id}/restore`)).status).to.equal(200)
    expect((await names()).names).to.deep.equal(before)
  })

  it("refuses an empty name and an unknown field, and names the field", async () => {
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
