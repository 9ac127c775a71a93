// Datasets and their rows for callers, and the walls between organizations.
import { expect } from "chai"
import type { Json } from "../../../core/contract/collection.ts"
import type { Streamed } from "../../../core/contract/operation.ts"
import { refusalOf } from "../../refusal.ts"
import { type DatasetBench, startBench } from "./dataset-bench.ts"

interface Rows {
  rows: { id: string; values: Record<string, Json>; created_at: string }[]
  next_cursor: string
}

interface Resource {
  id: string
  slug: string
  revision: number
  name: string
  key: string | null
}

describe("datasets", () => {
  let bench: DatasetBench
  let count = 0

  before(async () => {
    bench = await startBench()
  })
  after(() => bench.service.remove())
  const call = <T = Record<string, Json>>(name: string, input: object = {}, key?: string) =>
    bench.service.call<T>(name, input, key === undefined ? {} : { key })
  const create = (input: object = {}) => call<Resource>("datasets.create", { name: `Set ${++count}`, ...input })
  const insert = (slug: string, rows: object[], key?: string) =>
    call<{ row_ids: string[] }>("datasets.insert_rows", { slug, rows, ...(key === undefined ? {} : { key }) })
  const guest = async () => (await call<{ secret: string }>("api_keys.create", { name: "Guest", role: "guest" })).secret

  describe("create, get and update", () => {
    it("makes a slug of the name, and counts on where it is taken", async () => {
      expect((await create({ name: "Größte Leads!" })).slug).to.equal("gro-te-leads")
      expect((await create({ name: "Größte Leads!" })).slug).to.equal("gro-te-leads-2")
      expect((await create({ name: "Größte Leads!" })).slug).to.equal("gro-te-leads-3")
    })

    it("refuses a slug that is given and taken, or is a UUID", async () => {
      await create({ slug: "taken" })
      expect((await refusalOf(create({ slug: "taken" }))).code).to.equal("already_exists")
      expect((await refusalOf(create({ slug: bench.executionId() }))).code).to.equal("invalid_argument")
      expect((await refusalOf(create({ colour: "red" }))).code).to.equal("invalid_argument")
    })

    it("lets one of two that make a slug at the same time through", async () => {
      const outcomes = await Promise.allSettled([create({ slug: "raced" }), create({ slug: "raced" })])
      expect(outcomes.map(({ status }) => status).sort()).to.deep.equal(["fulfilled", "rejected"])
      const lost = outcomes.find((outcome) => outcome.status === "rejected")
      expect(lost?.reason).to.include({ code: "already_exists" })
    })

    it("reads by slug and by UUID, and shows no organization", async () => {
      const { id, slug } = await create()
      const bySlug = await call("datasets.get", { slug })
      expect(bySlug).to.deep.equal(await call("datasets.get", { slug: id }))
      expect(bySlug).to.not.have.property("organization_id")
      expect(bySlug).to.deep.include({
        class: "table",
        type: "native",
        status: "active",
        sync_status: "idle",
        warnings: [],
        key: null,
        columns: [],
      })
    })

    it("changes what is given and nothing else, at the revision it was meant for", async () => {
      const { slug, name } = await create({ description: "before" })
      const changed = await call<Resource>("datasets.update", { slug, description: "after", expected_revision: 1 })
      expect(changed).to.deep.include({ name, description: "after", revision: 2 })
      const error = await refusalOf(call("datasets.update", { slug, description: "late", expected_revision: 1 }))
      expect([error.code, error.details]).to.deep.equal(["aborted", { reason: "revision_mismatch", current_revision: 2 }])
      expect(await call("datasets.get", { slug })).to.deep.equal(changed)
    })

    it("at save makes a dataset once, also when two saves do it at the same time", async () => {
      const ensure = () => bench.service.work((work) => bench.datasets.ensure(work, bench.home, "default.made-at-save"))
      expect(await Promise.all([ensure(), ensure()])).to.deep.equal([
        { slug: "made-at-save", created: true },
        { slug: "made-at-save", created: true },
      ])
      expect(await ensure()).to.deep.equal({ slug: "made-at-save", created: false })
      expect((await call<Resource>("datasets.get", { slug: "made-at-save" })).name).to.equal("Made at save")
    })
  })

  describe("list", () => {
    it("has the summary's fields, exactly, and a total", async () => {
      await create()
      const { datasets, total } = await call<{ datasets: object[]; total: number }>("datasets.list")
      expect(total).to.equal(datasets.length)
      expect(Object.keys(datasets[0] ?? {}).sort()).to.deep.equal(
        [
          "class",
          "description",
          "id",
          "integration_config_key",
          "integration_id",
          "name",
          "purpose",
          "slug",
          "status",
          "sync_status",
          "type",
          "warnings",
        ].sort(),
      )
    })

    it("pages by limit and offset; negative counts as absent, beyond 32 bits is refused", async () => {
      while (count < 6) await create()
      const slugs = async (input: object) => (await call<{ datasets: Resource[] }>("datasets.list", input)).datasets.map(({ slug }) => slug)
      const all = await slugs({})
      expect(await slugs({ limit: 2, offset: 1 })).to.deep.equal(all.slice(1, 3))
      expect(await slugs({ limit: -5, offset: -2_147_483_648 })).to.deep.equal(all)
      expect(await slugs({ limit: 2_147_483_647, offset: all.length - 1 })).to.deep.equal(all.slice(-1))
      expect(await slugs({ offset: 2_147_483_647 })).to.deep.equal([])
      for (const input of [{ limit: 2_147_483_648 }, { offset: -2_147_483_649 }, { limit: "2" }, { limit: 1.5 }]) {
        expect((await refusalOf(call("datasets.list", input))).code).to.equal("invalid_argument")
      }
    })
  })

  describe("rows", () => {
    let slug: string
    beforeEach(async () => {
      slug = (await create()).slug
    })

    it("are written all or none, up to 1,000, and a refusal names the row", async () => {
      const { row_ids } = await insert(
        slug,
        Array.from({ length: 1_000 }, (_, n) => ({ n })),
      )
      expect(new Set(row_ids).size).to.equal(1_000)
      expect(await bench.rows(slug)).to.have.length(1_000)
      expect((await refusalOf(insert(slug, Array(1_001).fill({ n: 1 })))).code).to.equal("invalid_argument")
      expect((await refusalOf(insert(slug, []))).code).to.equal("invalid_argument")
      const error = await refusalOf(insert(slug, [{ ok: 1 }, { "a.b": 2 }]))
      expect(error.details.fields?.[0]?.path).to.equal("rows.1.a.b")
      expect(await bench.rows(slug)).to.have.length(1_000)
    })

    it("are refused with a column or an inner key named __proto__, which would be left out without a word", async () => {
      for (const [row, path] of [
        ['{"__proto__":{"x":1},"w":1}', "rows.1.__proto__"],
        ['{"w":{"deep":[{"__proto__":1}]}}', "rows.1.w.deep.0.__proto__"],
      ] as const) {
        const refused = await refusalOf(insert(slug, [{ w: 0 }, JSON.parse(row) as object]))
        expect(refused.code).to.equal("invalid_argument")
        expect(refused.message).to.include(path).and.include("reserved")
        expect(refused.details.fields?.map((field) => field.path)).to.deep.equal([path])
      }
      expect((await call<{ rows: Json[] }>("datasets.list_rows", { slug })).rows).to.deep.equal([])
    })

    it("share the key with pipelines, and the last of several with one key stands", async () => {
      const id = await bench.event(slug, { email: "a@x.test", from: "pipeline" }, { key: "email", receivedAt: "2026-01-01T00:00:00.000Z" })
      const { row_ids } = await insert(
        slug,
        [
          { email: "a@x.test", from: "first" },
          { email: "a@x.test", from: "second" },
        ],
        "email",
      )
      expect(row_ids).to.deep.equal([id, id])
      expect((await bench.rows(slug)).map(({ values }) => values)).to.deep.equal([{ email: "a@x.test", from: "second" }])
      expect((await refusalOf(insert(slug, [{ phone: "1" }], "phone"))).details.reason).to.equal("key_column_mismatch")
      const error = await refusalOf(insert(slug, [{ email: "b@x.test" }, { email: "" }], "email"))
      expect(error.details.fields?.[0]?.path).to.equal("rows.1.email")
      expect(await bench.rows(slug)).to.have.length(1)
    })

    it("are filtered by column, compared, and paged without gap or repeat", async () => {
      await insert(
        slug,
        Array.from({ length: 25 }, (_, n) => ({ n, parity: n % 2 === 0 ? "even" : "odd", at: { city: n < 5 ? "Paris" : "Rome" } })),
      )
      const list = (input: object) => call<Rows>("datasets.list_rows", { slug, ...input })
      const numbers = ({ rows }: Rows) => rows.map(({ values }) => values["n"])
      expect(numbers(await list({ filter: '{"n":7}' }))).to.deep.equal([7])
      expect(numbers(await list({ filter: '{"n":{"$gte":20},"parity":"odd"}', sort: "n" }))).to.deep.equal([21, 23])
      expect(numbers(await list({ filter: '{"$or":[{"n":1},{"at.city":"Paris"}]}', sort: "-n" }))).to.deep.equal([4, 3, 2, 1, 0])
      const received: Json[] = []
      let cursor = ""
      do {
        const page: Rows = await list({ filter: '{"parity":"even"}', sort: "-n", limit: 5, cursor })
        expect(page.rows.length).to.be.within(1, 5)
        received.push(...page.rows.map(({ values }) => values["n"] ?? null))
        cursor = page.next_cursor
      } while (cursor !== "")
      expect(received).to.deep.equal([24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0])
      expect((await list({})).rows).to.have.length(25)
    })

    it("refuse invalid filters and sorts, and cursors made for something else", async () => {
      await insert(slug, [{ n: 1 }, { n: 2 }])
      const list = (input: object) => call<Rows>("datasets.list_rows", { slug, ...input })
      for (const [field, value] of [
        ["filter", "n=1"],
        ["filter", "[]"],
        ["filter", "null"],
        ["filter", '{"$where":"1"}'],
        ["filter", '{"n":{"$regex":"x"}}'],
        ["filter", '{"$and":[]}'],
        ["filter", '{"__proto__":1}'],
        ["sort", "-"],
        ["sort", "$n"],
      ]) {
        expect((await refusalOf(list({ [field ?? ""]: value }))).code, value).to.equal("invalid_argument")
      }
      const { next_cursor } = await list({ limit: 1 })
      expect(next_cursor).to.not.equal("")
      const other = (await create()).slug
      for (const input of [{ filter: '{"n":1}' }, { sort: "n" }, { slug: other }]) {
        expect((await refusalOf(list({ ...input, limit: 1, cursor: next_cursor }))).code).to.equal("invalid_argument")
      }
    })

    it("are sorted by what has an order, and refused where it has none", async () => {
      const values = ["b", 2, null, true, "a", -1]
      await insert(
        slug,
        [...values, ...values].map((mixed, n) => ({ n, mixed, tags: [`t${n}`], at: { city: `c${n}` } })),
      )
      const list = (input: object) => call<Rows>("datasets.list_rows", { slug, limit: 5, ...input })
      for (const sort of ["mixed", "-mixed", "at.city"]) {
        const visited = new Set<Json | undefined>()
        let [cursor, count] = ["", 0]
        do {
          const page: Rows = await list({ sort, cursor })
          for (const { values } of page.rows) visited.add(values["n"])
          count += page.rows.length
          cursor = page.next_cursor
        } while (cursor !== "" && count < 24)
        expect([count, visited.size], sort).to.deep.equal([12, 12])
      }
      for (const sort of ["tags", "-tags", "at", "tags.0"]) {
        const refused = await refusalOf(list({ sort }))
        expect([refused.code, refused.details.fields?.[0]?.path], sort).to.deep.equal(["invalid_argument", "sort"])
      }
    })

    it("never show another dataset's rows, with any filter", async () => {
      const other = await create()
      await insert(other.slug, [{ hidden: 1 }])
      await insert(slug, [{ shown: 1 }])
      for (const filter of ["{}", `{"dataset_id":"${other.id}"}`, `{"$or":[{"hidden":1},{"shown":1}]}`]) {
        const { rows } = await call<Rows>("datasets.list_rows", { slug, filter })
        expect(JSON.stringify(rows)).to.not.include("hidden")
      }
    })

    it("are deleted by id, once, in their own dataset only", async () => {
      const { row_ids } = await insert(slug, [{ n: 1 }, { n: 2 }])
      const [id] = row_ids
      const other = (await create()).slug
      expect((await refusalOf(call("datasets.delete_row", { slug: other, id }))).code).to.equal("not_found")
      expect(await bench.rows(slug)).to.have.length(2)
      expect(await call("datasets.delete_row", { slug, id })).to.deep.equal({ id, deleted: true })
      expect((await refusalOf(call("datasets.delete_row", { slug, id }))).code).to.equal("not_found")
      expect((await bench.rows(slug)).map(({ values }) => values)).to.deep.equal([{ n: 2 }])
    })
  })

  describe("export", () => {
    const text = async (input: object, key?: string) => {
      const { chunks, ...rest } = await call<Streamed>("datasets.export", input, key)
      let all = ""
      for await (const chunk of chunks) all += chunk
      return { ...rest, all }
    }

    it("writes CSV that comes apart again, oldest first", async () => {
      const { slug } = await create()
      await bench.event(
        slug,
        { name: 'Ada "the" first, of\nmany', n: 1.5, ok: true, tags: ["a"] },
        { receivedAt: "2026-01-01T00:00:00.000Z" },
      )
      await bench.event(slug, { name: null, n: -3 }, { receivedAt: "2026-01-02T00:00:00.000Z" })
      const { all, contentType, fileName } = await text({ slug })
      expect([contentType, fileName]).to.deep.equal(["text/csv; charset=utf-8; header=present", `${slug}.csv`])
      const [first, second] = await bench.rows(slug)
      expect(all).to.equal(
        "id,created_at,updated_at,name,n,ok,tags\r\n" +
          `${first?.id},2026-01-01T00:00:00.000Z,2026-01-01T00:00:00.000Z,"Ada ""the"" first, of\nmany",1.5,true,"[""a""]"\r\n` +
          `${second?.id},2026-01-02T00:00:00.000Z,2026-01-02T00:00:00.000Z,,-3,,\r\n`,
      )
    })

    it("disarms formulas in CSV and leaves phone numbers alone; NDJSON holds what is stored", async () => {
      const { slug } = await create()
      const row = { a: "=HYPERLINK(1)", b: "@x", c: "+49 170 1234567", d: "-1+cmd", e: "\t=1", f: ";=1", g: "\u0000=1", h: "a;=1" }
      await bench.event(slug, row)
      const line = (await text({ slug })).all.split("\r\n")[1] ?? ""
      expect(line.split(",").slice(3)).to.deep.equal([
        "'=HYPERLINK(1)",
        "'@x",
        "+49 170 1234567",
        "'-1+cmd",
        `"'\t=1"`,
        `"';=1"`,
        "'\u0000=1",
        '"a;=1"',
      ])
      const { all, contentType } = await text({ slug, format: "ndjson" })
      expect(contentType).to.equal("application/x-ndjson")
      expect((JSON.parse(all) as { values: object }).values).to.deep.equal(row)
    })

    it("streams more rows than a page, each once", async () => {
      const { slug } = await create()
      for (let part = 0; part < 3; part++) {
        await insert(
          slug,
          Array.from({ length: 800 }, (_, n) => ({ n: part * 800 + n, text: "x".repeat(60) })),
        )
      }
      const { chunks } = await call<Streamed>("datasets.export", { slug, format: "ndjson", filter: '{"n":{"$lt":2000}}' })
      const pieces: string[] = []
      for await (const chunk of chunks) pieces.push(chunk)
      const numbers = pieces
        .join("")
        .trimEnd()
        .split("\n")
        .map((line) => (JSON.parse(line) as Rows["rows"][number]).values["n"] as number)
      expect(numbers.sort((a, b) => a - b)).to.deep.equal(Array.from({ length: 2_000 }, (_, n) => n))
      expect(pieces.length).to.be.greaterThan(1)
    })

    it("of a dataset without rows is a header, or nothing", async () => {
      const { slug } = await create()
      expect((await text({ slug })).all).to.equal("id,created_at,updated_at\r\n")
      expect((await text({ slug, format: "ndjson" })).all).to.equal("")
    })
  })

  describe("walls", () => {
    it("hide a dataset and its rows from another organization, by slug and by id", async () => {
      const { id, slug } = await create()
      const { row_ids } = await insert(slug, [{ secret: "s" }])
      for (const reference of [slug, id]) {
        for (const [name, input] of [
          ["datasets.get", {}],
          ["datasets.update", { name: "Mine" }],
          ["datasets.list_rows", {}],
          ["datasets.insert_rows", { rows: [{ a: 1 }] }],
          ["datasets.delete_row", { id: row_ids[0] }],
          ["datasets.export", {}],
        ] as const) {
          const error = await refusalOf(call(name, { slug: reference, ...input }, bench.stranger))
          expect(error.code, name).to.equal("not_found")
          expect(JSON.stringify(error.toBody())).to.not.include("secret")
        }
      }
      expect((await call<{ total: number }>("datasets.list", {}, bench.stranger)).total).to.equal(0)
      expect(await bench.rows(slug)).to.have.length(1)
      expect((await bench.dataset(slug)).revision).to.equal(1)
    })

    it("let both have a dataset of one slug, each its own rows", async () => {
      const { slug } = await create()
      await call("datasets.create", { name: "Same", slug }, bench.stranger)
      await call("datasets.insert_rows", { slug, rows: [{ email: "a", whose: "theirs" }], key: "email" }, bench.stranger)
      await insert(slug, [{ email: "a", whose: "ours" }], "email")
      const whose = async (key?: string) =>
        (await call<Rows>("datasets.list_rows", { slug }, key)).rows.map(({ values }) => values["whose"])
      expect([await whose(), await whose(bench.stranger)]).to.deep.equal([["ours"], ["theirs"]])
    })

    it("let a guest see datasets, and neither rows nor exports", async () => {
      const { slug } = await create()
      const key = await guest()
      await call("datasets.get", { slug }, key)
      for (const name of ["datasets.list_rows", "datasets.export", "datasets.insert_rows", "datasets.update"]) {
        expect((await refusalOf(call(name, { slug, rows: [{ a: 1 }] }, key))).code, name).to.equal("permission_denied")
      }
    })
  })
})
