// Columns named like a row's own fields, and the byte order mark of CSV.
import { expect } from "chai"
import type { TestHost } from "#core/testing"
import { onBothStores } from "../../pipeline/stores.ts"

interface Row {
  readonly id: string
  readonly values: Record<string, unknown>
  readonly created_at: string
}

onBothStores("columns named like a row's own fields", ({ start }) => {
  let host: TestHost
  let ids: string[]
  const rows = [
    { id: "order-77", created_at: "2020-01-01", updated_at: "never", email: "a@example.com" },
    { id: "order-12", created_at: "2021-06-01", updated_at: "today", email: "b@example.com", values: { id: 5 } },
    { id: { nested: 3 }, email: "c@example.com" },
  ]
  before(async () => {
    host = await start()
    for (const name of ["Orders", "Keyed"]) await host.api("POST", "/v1/datasets", { name })
    ids = (await host.api<{ row_ids: string[] }>("POST", "/v1/datasets/orders/rows", { rows })).body.row_ids
  })

  const list = async (slug: string, query: Record<string, string>) => {
    const { status, body } = await host.api<{ rows: Row[]; message: string }>(
      "GET",
      `/v1/datasets/${slug}/rows?${new URLSearchParams(query)}`,
    )
    expect(status, body.message).to.equal(200)
    return body.rows
  }
  const emails = async (query: Record<string, string>) => (await list("orders", query)).map(({ values }) => values["email"])
  const download = async (slug: string, query: string) => {
    const answer = await fetch(`${host.url}/v1/datasets/${slug}/export?${query}`, { headers: { authorization: `Bearer ${host.adminKey}` } })
    return Buffer.from(await answer.arrayBuffer())
  }

  it("keep the names of the sender in the values, beside the row's own", async () => {
    const [row] = await list("orders", { filter: '{"email":"a@example.com"}' })
    expect(row?.values).to.include({ id: "order-77", created_at: "2020-01-01", updated_at: "never" })
    expect([row?.id, row?.created_at.startsWith("2020")]).to.deep.equal([ids[0], false])
  })

  it("are filtered as values.id, while id is the row's own", async () => {
    const matches: [object, string[]][] = [
      [{ "values.id": "order-77" }, ["a@example.com"]],
      [{ id: "order-77" }, []],
      [{ id: ids[1] }, ["b@example.com"]],
      [{ "values.created_at": { $gte: "2021" } }, ["b@example.com"]],
      [{ created_at: { $lt: "2022-01-01" } }, []],
      [{ $or: [{ "values.updated_at": "never" }, { "values.id.nested": 3 }] }, ["a@example.com", "c@example.com"]],
      [{ "id.nested": 3 }, ["c@example.com"]],
      [{ "values.values.id": 5 }, ["b@example.com"]],
      [{ "values.updated_at": "" }, ["c@example.com"]],
    ]
    for (const [filter, expected] of matches)
      expect([filter, await emails({ filter: JSON.stringify(filter), sort: "created_at" })]).to.deep.equal([filter, expected])
  })

  it("are sorted as values.created_at, while created_at is the row's own", async () => {
    expect(await emails({ sort: "values.created_at" })).to.deep.equal(["c@example.com", "a@example.com", "b@example.com"])
    expect(await emails({ sort: "-values.updated_at", limit: "2" })).to.deep.equal(["b@example.com", "a@example.com"])
    expect(await emails({ sort: "created_at" })).to.deep.equal(rows.map(({ email }) => email))
    const refused = await host.api<{ message: string }>("GET", "/v1/datasets/orders/rows?sort=values.id")
    expect([refused.status, refused.body.message.includes('"values.id"')]).to.deep.equal([400, true])
  })

  it("have one name each in CSV", async () => {
    const header = (await download("orders", "")).toString("utf8").split("\r\n")[0]?.split(",") ?? []
    expect(header).to.deep.equal([
      "id", "created_at", "updated_at", "values.id", "values.created_at", "values.updated_at", "email", "values",
    ]) // biome-ignore format: a list
  })

  it("may key a dataset", async () => {
    const upsert = (id: string, n: number) => host.api("POST", "/v1/datasets/keyed/rows", { key: "id", rows: [{ id, n }] })
    for (const [id, n] of [["x", 1], ["y", 2], ["x", 3]] as const) expect((await upsert(id, n)).status).to.equal(200) // biome-ignore format: a list
    const matches = await list("keyed", { filter: '{"values.id":"x"}' })
    expect(matches.map(({ values }) => values["n"])).to.deep.equal([3])
  })

  it("start CSV with a byte order mark on request", async () => {
    const mark = "efbbbf"
    const startOf = async (query: string) => (await download("orders", query)).subarray(0, 5).toString("hex")
    expect(await startOf("bom=true")).to.equal(`${mark}6964`)
    for (const query of ["", "bom=false", "format=ndjson&bom=true"]) expect((await startOf(query)).startsWith(mark), query).to.equal(false)
    const [marked, plain] = [await download("orders", "bom=true"), await download("orders", "")]
    expect(marked.subarray(3).equals(plain)).to.equal(true)
  })
})
