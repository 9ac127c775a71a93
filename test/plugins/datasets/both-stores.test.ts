// Rows over HTTP, for earlier differences of the two stores: times in filters, the order within one call, many columns, and
// integers beyond the range of numbers.
import { expect } from "chai"
import type { TestHost } from "#core/testing"
import { onBothStores } from "../../pipeline/stores.ts"
import { patiently } from "../../waiting.ts"

interface Page {
  readonly rows: { id: string; values: Record<string, unknown> }[]
}
interface Refused {
  readonly code: string
  readonly message: string
  readonly details: { reason: string; fields: { path: string; message: string }[] }
}

onBothStores("rows of a dataset", ({ start }) => {
  let host: TestHost
  before(async () => {
    host = await start()
    host.clock.set("2026-11-27T12:00:00.000Z")
    for (const name of ["Times", "Batch", "Wide", "Numbers"]) await host.api("POST", "/v1/datasets", { name })
  })

  const insert = (slug: string, rows: object[]) =>
    patiently(() => host.api<{ row_ids: string[] }>("POST", `/v1/datasets/${slug}/rows`, { rows }))
  const list = <T = Page>(slug: string, filter: object, sort = "") =>
    host.api<T>("GET", `/v1/datasets/${slug}/rows?limit=200&sort=${sort}&filter=${encodeURIComponent(JSON.stringify(filter))}`)

  it("are filtered by RFC 3339 times alone, in any of their forms", async () => {
    await insert("times", [{ n: 1 }])
    for (const time of ["2020", "x", "", "2026-13-01", "yesterday"]) {
      for (const filter of [{ created_at: { $gt: time } }, { updated_at: { $lt: time } }, { $or: [{ n: 1 }, { created_at: time }] }]) {
        const { status, body } = await list<Refused>("times", filter)
        expect([status, body.code, body.details.reason], JSON.stringify(filter)).to.deep.equal([400, "invalid_argument", "invalid_fields"])
        expect(body.message).to.include("RFC 3339")
      }
    }
    const findTimes = async (filter: object) => (await list("times", filter)).body.rows.length
    for (const time of ["2026-11-27", "2026-11-27T11:59:59Z", "2026-11-27T13:59:59+02:00", "2026-11-27T11:59:59.999999Z"])
      expect(await findTimes({ created_at: { $gt: time } }), time).to.equal(1)
    for (const time of ["2026-11-28", "2026-11-27T14:00:00+02:00"]) expect(await findTimes({ created_at: { $gt: time } }), time).to.equal(0)
    expect(await findTimes({ created_at: { $in: ["2026-11-27T14:00:00+02:00"] } })).to.equal(1)
    expect(
      await findTimes({ $and: [{ created_at: "2026-11-27T12:00:00Z" }, { updated_at: { $not: { $gt: "2026-11-27T12:00:00Z" } } }] }),
    ).to.equal(1)
  })

  it("of one call keep their order in lists and in the export", async () => {
    const inputs = Array.from({ length: 150 }, (_, n) => ({ n }))
    const { body } = await insert("batch", inputs)
    const expected = inputs.map(({ n }) => n)
    const upwards = (await list("batch", {}, "created_at")).body.rows
    expect(upwards.map(({ values }) => values["n"])).to.deep.equal(expected)
    expect(upwards.map(({ id }) => id)).to.deep.equal(body.row_ids)
    expect((await list("batch", {})).body.rows.map(({ values }) => values["n"])).to.deep.equal(expected.toReversed())
    const csv = await fetch(`${host.url}/v1/datasets/batch/export`, { headers: { authorization: `Bearer ${host.adminKey}` } })
    const lines = (await csv.text()).trim().split("\r\n").slice(1)
    expect(lines.map((line) => Number(line.split(",").at(-1)))).to.deep.equal(expected)
  })

  it("have the first 1,000 columns that were seen", async () => {
    const columns = (from: number) => Object.fromEntries(Array.from({ length: 700 }, (_, n) => [`c${from + n}`, 1]))
    await Promise.all([0, 700, 1_400].map((from) => insert("wide", [columns(from)])))
    const header = await fetch(`${host.url}/v1/datasets/wide/export`, { headers: { authorization: `Bearer ${host.adminKey}` } })
    const names = ((await header.text()).split("\r\n", 1)[0] ?? "").split(",").slice(3)
    expect(names).to.have.length(1_000)
  })

  it("hold integers exactly or refuse them", async () => {
    const post = async (path: string, body: string) => {
      const headers = { authorization: `Bearer ${host.adminKey}`, "content-type": "application/json" }
      const response = await fetch(host.url + path, { method: "POST", headers, body })
      return { status: response.status, body: (await response.json()) as Refused }
    }
    const rounded = ["9007199254740993", "-9007199254740993", "12345678901234567890", "18446744073709551615", `1${"0".repeat(400)}`]
    for (const digits of rounded) {
      const { status, body } = await post("/v1/datasets/numbers/rows", `{"rows":[{"account":{"id":${digits}}}]}`)
      expect([status, body.code, body.details.fields[0]?.path], digits).to.deep.equal([400, "invalid_argument", "rows.0.account.id"])
      expect(body.message).to.include("send it as text")
    }
    const filter = encodeURIComponent('{"id":{"$gt":9007199254740993}}')
    expect((await host.api("GET", `/v1/datasets/numbers/rows?filter=${filter}`)).status).to.equal(400)
    const event = await post("/v1/consents", '{"email":"a@example.com","evidence":{"order":9007199254740993}}')
    expect(event.body.details.fields[0]?.path).to.equal("evidence.order")
    for (const digits of ["9007199254740991", "9007199254740992", "9007199254740994", "-9007199254740992", "10000000000000000"]) {
      expect((await post("/v1/datasets/numbers/rows", `{"rows":[{"id":${digits}}]}`)).status, digits).to.equal(200)
      const { body } = await list("numbers", {})
      expect(body.rows.map(({ values }) => String(values["id"]))).to.include(digits)
    }
    expect((await post("/v1/datasets/numbers/rows", '{"rows":[{"id":"9007199254740993"}]}')).status).to.equal(200)
  })
})
