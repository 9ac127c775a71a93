// Rows older than a column: reads and filters, on both stores.
import { expect } from "chai"
import type { Json } from "#core"
import type { TestHost } from "#core/testing"
import { onBothStores } from "../../pipeline/stores.ts"

type Values = Record<string, Json>

onBothStores("columns that a row lacks", ({ start }) => {
  let host: TestHost
  let slug: string

  before(async () => {
    host = await start()
    const { body } = await host.api<{ slug: string }>("POST", "/v1/datasets", { name: "Grown" })
    slug = body.slug
    await insert([{ email: "old@a.b" }])
    await insert([
      { email: "new@a.b", variant: "control", budget: 5, joined: "2026-11-20T10:00:00Z", tags: ["a"], mixed: 1 },
      { email: "blank@a.b", variant: "", budget: 0, mixed: "text" },
      { email: "null@a.b", variant: null, budget: null },
    ])
  })

  async function insert(rows: object[]): Promise<void> {
    const { status, body } = await host.api("POST", `/v1/datasets/${slug}/rows`, { rows, key: "email" })
    expect(status, JSON.stringify(body)).to.equal(200)
  }
  const list = async (filter: object, more: Record<string, string> = {}) => {
    const query = new URLSearchParams({ filter: JSON.stringify(filter), ...more })
    const { status, body } = await host.api<{ rows: { values: Values }[] }>("GET", `/v1/datasets/${slug}/rows?${query}`)
    expect(status, JSON.stringify(body)).to.equal(200)
    return body.rows.map(({ values }) => values)
  }
  const findEmails = async (filter: object) => (await list(filter)).map(({ email }) => String(email).split("@")[0]).sort()
  const exported = async (format: string, filter: object = {}) => {
    const query = new URLSearchParams({ format, filter: JSON.stringify(filter) })
    const answer = await fetch(`${host.url}/v1/datasets/${slug}/export?${query}`, { headers: { authorization: `Bearer ${host.adminKey}` } })
    return (await answer.text()).trim().split(/\r?\n/)
  }

  it("read as blank, text as empty and all else as null, and what is written as it is", async () => {
    const blank = { variant: "", budget: null, joined: null, tags: null, mixed: null }
    expect(await list({ email: "old@a.b" })).to.deep.equal([{ email: "old@a.b", ...blank }])
    expect(await list({ email: "null@a.b" })).to.deep.equal([{ email: "null@a.b", ...blank, variant: null }])
    expect(Object.keys((await list({ email: "old@a.b" }))[0] ?? {})).to.deep.equal(Object.keys((await list({ email: "new@a.b" }))[0] ?? {}))
  })

  it("are blank in both forms of an export", async () => {
    const [header = "", ...lines] = await exported("csv")
    expect(header).to.equal("id,created_at,updated_at,email,variant,budget,joined,tags,mixed")
    expect(lines.find((line) => line.includes("old@a.b"))).to.match(/,old@a\.b,,,,,$/)
    const rows = (await exported("ndjson")).map((line) => (JSON.parse(line) as { values: Values }).values)
    expect(rows.find(({ email }) => email === "old@a.b")).to.deep.equal((await list({ email: "old@a.b" }))[0])
    expect(await exported("csv", { variant: "" })).to.have.length(3)
  })

  it("are found by what they read as, and by null", async () => {
    for (const [filter, emails] of [
      [{ variant: "" }, ["blank", "old"]],
      [{ variant: { $eq: "" } }, ["blank", "old"]],
      [{ variant: { $in: ["", "other"] } }, ["blank", "old"]],
      [{ variant: { $ne: "" } }, ["new", "null"]],
      [{ variant: { $nin: ["", "other"] } }, ["new", "null"]],
      [{ variant: { $not: { $in: [""] } } }, ["new", "null"]],
      [{ variant: { $ne: "control" } }, ["blank", "null", "old"]],
      [{ variant: { $lt: "d" } }, ["blank", "new", "old"]],
      [{ variant: { $gte: "" } }, ["blank", "new", "old"]],
      [{ variant: { $gt: "" } }, ["new"]],
      [{ variant: "control" }, ["new"]],
      [{ variant: null }, ["null", "old"]],
      [{ variant: { $ne: null } }, ["blank", "new"]],
      [{ variant: { $exists: false } }, ["old"]],
      [{ budget: null }, ["null", "old"]],
      [{ budget: "" }, []],
      [{ budget: { $gte: 0 } }, ["blank", "new"]],
      [{ joined: "" }, []],
      [{ mixed: "" }, []],
      [{ never: "" }, []],
      [{ never: null }, ["blank", "new", "null", "old"]],
      [{ $and: [{ variant: "" }, { budget: null }] }, ["old"]],
      [{ $or: [{ variant: "" }, { email: "new@a.b" }] }, ["blank", "new", "old"]],
      [{ variant: "", email: "old@a.b" }, ["old"]],
    ] as const) {
      expect(await findEmails(filter), JSON.stringify(filter)).to.deep.equal(emails)
    }
  })

  it("are passed page by page, in an order that a blank column gives", async () => {
    const emails: unknown[] = []
    let cursor = ""
    do {
      const query = new URLSearchParams({ filter: '{"variant":{"$ne":"control"}}', sort: "variant", limit: "1", cursor })
      const { body } = await host.api<{ rows: { values: Values }[]; next_cursor: string }>("GET", `/v1/datasets/${slug}/rows?${query}`)
      emails.push(...body.rows.map(({ values }) => values["email"]))
      cursor = body.next_cursor
    } while (cursor !== "")
    expect(emails).to.have.members(["old@a.b", "null@a.b", "blank@a.b"])
    expect(emails.at(-1)).to.equal("blank@a.b")
  })
})
