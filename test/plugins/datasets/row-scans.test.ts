// Filters and sorts of datasets too large for a scan, on both stores.
import { expect } from "chai"
import type { Json } from "#core"
import type { TestHost } from "#core/testing"
import { onBothStores } from "../../pipeline/stores.ts"

const most = 20

interface Rows {
  readonly rows: { readonly id: string; readonly values: Record<string, Json>; readonly created_at: string }[]
  readonly next_cursor: string
}

interface Refusal {
  readonly code: string
  readonly message: string
  readonly details: { readonly reason: string; readonly indexed_columns: string[]; readonly fields: { path: string; message: string }[] }
}

onBothStores("reads of large datasets", ({ start }) => {
  let host: TestHost
  let created = 0

  before(async () => {
    host = await start({ env: { MILLRACE_PLUGINS_SETTINGS: JSON.stringify({ datasets: { max_scanned_rows: most } }) } })
  })

  const list = async <T = Rows>(slug: string, query: Record<string, string>) => {
    const { status, body } = await host.api<T>("GET", `/v1/datasets/${slug}/rows?${new URLSearchParams(query)}`)
    return { status, body }
  }
  const refusal = async (slug: string, query: Record<string, string>) => {
    const { status, body } = await list<Refusal>(slug, query)
    expect(status, JSON.stringify(body)).to.equal(400)
    expect(body.code).to.equal("invalid_argument")
    expect(body.details.reason).to.equal("column_not_indexed")
    return body
  }
  const findRows = async (slug: string, query: Record<string, string>) => {
    const { status, body } = await list(slug, query)
    expect(status, JSON.stringify(body)).to.equal(200)
    return body.rows.map(({ values }) => values["n"])
  }
  const insert = async (slug: string, rows: object[], key?: string) => {
    const { status, body } = await host.api("POST", `/v1/datasets/${slug}/rows`, { rows, ...(key === undefined ? {} : { key }) })
    expect(status, JSON.stringify(body)).to.equal(200)
  }
  const dataset = async () => {
    const { body } = await host.api<{ slug: string }>("POST", "/v1/datasets", { name: `Large ${++created}` })
    return body.slug
  }
  const row = (n: number) => ({ email: `p${n}@example.com`, n, city: n % 2 === 0 ? "Rome" : "Paris" })
  const filled = async (count: number, key?: string) => {
    const slug = await dataset()
    await insert(
      slug,
      Array.from({ length: count }, (_, n) => row(n)),
      key,
    )
    return slug
  }

  it("are answered row by row up to the bound, and refused beyond it, by filter and by sort", async () => {
    const small = await filled(most)
    expect(await findRows(small, { filter: '{"n":7}', sort: "-n" })).to.deep.equal([7])
    const large = await filled(most + 1)
    const byFilter = await refusal(large, { filter: '{"city":"Rome"}' })
    expect(byFilter.message).to.include('"city" is not indexed').and.include(large).and.include("created_at")
    expect(byFilter.details.fields.map(({ path }) => path)).to.deep.equal(["filter"])
    expect(byFilter.details.indexed_columns).to.deep.equal(["created_at", "id"])
    const bySort = await refusal(large, { sort: "-n" })
    expect(bySort.message).to.include('"n" is not indexed')
    expect(bySort.details.fields.map(({ path }) => path)).to.deep.equal(["sort"])
    const both = await refusal(large, { filter: '{"city":"Rome","at.place":1}', sort: "updated_at" })
    expect(both.details.fields.map(({ message }) => /"([^"]+)"/.exec(message)?.[1])).to.deep.equal(["city", "at.place", "updated_at"])
  })

  it("are answered in the order of created_at, for any size", async () => {
    const large = await filled(most + 5)
    expect(await findRows(large, {})).to.have.length(most + 5)
    expect(await findRows(large, { sort: "created_at", limit: "3" })).to.have.length(3)
    const { body } = await list(large, { limit: "3" })
    expect(body.next_cursor).to.not.equal("")
    expect(await findRows(large, { limit: "3", cursor: body.next_cursor })).to.have.length(3)
  })

  it("are answered where id or created_at leave few enough rows", async () => {
    const large = await filled(most + 1)
    const { body } = await list(large, { limit: "200" })
    const last = body.rows[0]
    const [id = "", at = ""] = [last?.id, last?.created_at]
    expect(await findRows(large, { filter: JSON.stringify({ id }), sort: "n" })).to.deep.equal([last?.values["n"]])
    await insert(large, [row(100), row(101)])
    const since = JSON.stringify({ created_at: { $gt: at }, city: "Rome" })
    expect(await findRows(large, { filter: since, sort: "-n" })).to.deep.equal([100])
    expect(await findRows(large, { filter: JSON.stringify({ $and: [{ created_at: { $gt: at } }, { n: { $gt: 100 } }] }) })).to.deep.equal([
      101,
    ])
    await refusal(large, { filter: JSON.stringify({ created_at: { $gte: "2000-01-01T00:00:00.000Z" }, city: "Rome" }) })
  })

  it("are refused where an indexed column narrows nothing", async () => {
    const large = await filled(most + 1)
    for (const filter of [{ created_at: { $exists: false } }, { id: { $ne: "x" } }, { $or: [{ created_at: "x" }, { id: "x" }] }]) {
      await refusal(large, { filter: JSON.stringify(filter) })
    }
  })

  it("are answered by values of the key, where every row has one", async () => {
    const large = await filled(most + 1, "email")
    expect(await findRows(large, { filter: '{"email":"p3@example.com"}' })).to.deep.equal([3])
    expect(await findRows(large, { filter: '{"email":"p3@example.com","city":"Rome"}' })).to.deep.equal([])
    expect(await findRows(large, { filter: '{"email":{"$in":["p3@example.com","p4@example.com","none"]}}', sort: "-n" })).to.deep.equal([
      4, 3,
    ])
    const refused = await refusal(large, { filter: '{"email":{"$gt":"p3@example.com"}}' })
    expect(refused.details.indexed_columns).to.deep.equal(["created_at", "id", "email"])
  })

  it("find rows without a key beside keyed ones: then the key's values stand for nothing", async () => {
    const filter = '{"email":"p1@example.com"}'
    const small = await filled(3, "email")
    await insert(small, [{ email: "p1@example.com", n: 50 }])
    expect((await findRows(small, { filter })).toSorted()).to.deep.equal([1, 50])
    const large = await filled(most, "email")
    expect(await findRows(large, { filter })).to.deep.equal([1])
    await insert(large, [{ email: "p1@example.com", n: 50 }])
    const refused = await refusal(large, { filter })
    expect(refused.details.indexed_columns).to.deep.equal(["created_at", "id"])
  })

  it("are exported whole, and refused with a filter that would go through them", async () => {
    const large = await filled(most + 1)
    const whole = await host.api<string>("GET", `/v1/datasets/${large}/export?format=ndjson`)
    expect(String(whole.body).trim().split("\n")).to.have.length(most + 1)
    const { status, body } = await host.api<Refusal>("GET", `/v1/datasets/${large}/export?filter=${encodeURIComponent('{"city":"Rome"}')}`)
    expect([status, body.details.reason]).to.deep.equal([400, "column_not_indexed"])
  })
})
