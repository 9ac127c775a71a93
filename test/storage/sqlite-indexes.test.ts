import { DatabaseSync } from "node:sqlite"
import { expect } from "chai"
import fc from "fast-check"
import { defineCollection } from "../../core/contract/collection.ts"
import type { Filter } from "../../core/contract/store.ts"
import { shapeOf } from "../../core/storage/sqlite/shape.ts"
import { byTier } from "../tier.ts"
import { type Note, notes } from "./contract.ts"
import { filter, scalar } from "./contract-queries.ts"
import { events, type OpenedFile, openFile } from "./opened.ts"
import { matchesReference } from "./reference.ts"

describe("storage: indexes of the sqlite file", () => {
  let opened: OpenedFile
  afterEach(() => opened.close())

  const insert = (id: string, more: object = {}) =>
    opened.store.commit({ id: `c-${id}`, writes: [{ kind: "insert", collection: events, doc: { id, ...more } }] })

  it("makes and drops indexes as the declaration changes, also over lists written before", async () => {
    opened = await openFile([events])
    await insert("a", { tag: ["x", "y"], kind: "k" })
    await insert("b", { tag: "x" })
    const { file } = opened
    await opened.store.stop()
    const changed = defineCollection<Note>()({ ...events, indexes: [{ fields: ["tag"] }, { fields: ["-n", "tag"] }] })
    const again = await openFile([changed], { file })
    const matches = await again.store.open(changed).find({ tag: "x" })
    expect(matches.map((doc) => doc.id)).to.deep.equal(["a", "b"])
    await again.store.stop()
    const names = new DatabaseSync(file, { readOnly: true })
      .prepare("SELECT name FROM sqlite_master WHERE type='index' AND tbl_name='events'")
      .all()
    expect(names).to.have.length(5)
    await again.close()
  })

  it("refuses a unique index over documents that break it, and names collection and field", async () => {
    opened = await openFile([events])
    await insert("a", { kind: "same" })
    await insert("b", { kind: "same" })
    const { file } = opened
    await opened.store.stop()
    const strict = defineCollection<Note>()({ ...events, indexes: [{ fields: ["kind"], unique: true }] })
    let message = ""
    await openFile([strict], { file }).catch((error: unknown) => {
      message = String(error)
    })
    expect(message).to.include('"events"').and.include("kind")
  })

  const planning = async () => {
    opened = await openFile([notes])
    await opened.store.stop()
    const database = new DatabaseSync(opened.file, { readOnly: true })
    database.function("mr_matches", { varargs: true }, () => 1)
    return database
  }

  it("serves lists and look-ups from indexes", async () => {
    const database = await planning()
    const { statementOf, toWire } = await import("../../core/storage/sqlite/query.ts")
    const base = { collection: notes, organization: "o", limit: 10, deadlineMs: 1, after: undefined }
    const plans = [
      {
        filter: { group: "g" },
        sort: [
          ["rank", -1],
          ["id", -1],
        ],
      },
      { filter: { slug: "s", $or: [{ a: 1 }] }, sort: [["id", 1]] },
      {
        filter: { created_at: { $gte: "2026" } },
        sort: [
          ["created_at", 1],
          ["id", 1],
        ],
      },
      { filter: {}, sort: [["id", -1]] },
      { filter: { "values.a": { $in: ["a", "b", "a"] } }, sort: [["id", 1]] },
      {
        filter: { group: { $in: ["g", null, 3] }, slug: { $in: ["s"] } },
        sort: [
          ["rank", -1],
          ["id", -1],
        ],
      },
      {
        filter: { "values.a": true },
        sort: [
          ["rank", -1],
          ["id", -1],
        ],
      },
    ] as const
    for (const plan of plans) {
      const wire = toWire({ ...base, ...plan }, 0)
      const { sql } = statementOf(wire, shapeOf(notes), false)
      const rows = database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all()
      const text = rows.map((row) => String(row["detail"])).join("; ")
      expect(text, JSON.stringify(plan))
        .to.match(/SEARCH .* USING INDEX/)
        .and.not.include("TEMP B-TREE")
      const searched = rows.flatMap((row) => /^SEARCH "?contract_notes.*\((.*)\)$/.exec(String(row["detail"]))?.[1] ?? [])
      if ("slug" in plan.filter && plan.filter.slug === "s") expect(searched, "by a sparse index").to.deep.equal(["org=? AND $slug=?"])
      if ("values.a" in plan.filter) {
        const conditions = plan.filter["values.a"] === true ? ["org=?"] : Array(2).fill("org=? AND $values.a=?")
        expect(searched, "of each value, or the index of that value alone").to.deep.equal(conditions)
      }
      if ("group" in plan.filter && plan.filter.group !== "g") expect(searched).to.deep.equal(Array(3).fill("org=? AND $group=?"))
    }
    database.close()
  })

  it("searches a range between its own ends, and of one end to that of the type", async () => {
    const { statementOf, toWire } = await import("../../core/storage/sqlite/query.ts")
    const boundsOf = (created_at: object) => {
      const query = { collection: notes, organization: "o", limit: 10, deadlineMs: 1, after: undefined, filter: { created_at } }
      const { sql } = statementOf(toWire({ ...query, sort: [["created_at", -1]] }, 0), shapeOf(notes), false)
      return sql.match(/"\$created_at"[<>]=?(?:\?|x?'')/g)
    }
    const [from, to] = [`"$created_at">=?`, `"$created_at"<?`]
    expect(boundsOf({ $gte: "2026", $lt: "2027" })).to.deep.equal([from, to])
    expect(boundsOf({ $gte: "2026" })).to.deep.equal([from, `"$created_at"<x''`])
    expect(boundsOf({ $lt: "2027" })).to.deep.equal([to, `"$created_at">=''`])
    expect(boundsOf({ $gte: 5, $lt: "2027" })).to.deep.equal([from, `"$created_at"<''`, to, `"$created_at">=''`])
  })

  it("finds what the reference finds where SQL says all that a filter does, and counts it", async () => {
    opened = await openFile([notes])
    const shapes = fc.record({ a: scalar, group: scalar, rank: scalar }, { requiredKeys: [] })
    const docs = fc.sample(shapes, { numRuns: 300, seed: 3 }).map(({ a, ...rest }, n): Note => {
      return { id: `n${String(n).padStart(3, "0")}`, slug: `s${n}`, ...rest, values: a === undefined ? {} : { a } }
    })
    await opened.store.commit({ id: "c", writes: docs.map((doc) => ({ kind: "insert", collection: notes, organization: "o", doc })) })
    const equal = fc.tuple(fc.constantFrom("values.a", "group", "rank"), scalar).map(([path, value]) => ({ [path]: value }))
    const exact = fc.array(equal, { minLength: 1, maxLength: 3 }).map(($and): Filter => ({ $and }))
    const collection = opened.store.open(notes, "o")
    const queries = (of: fc.Arbitrary<Filter>, all: number) =>
      fc.sample(of, { numRuns: byTier({ fast: all / 4, slow: all, soak: all }), seed: 5 })
    for (const query of [...queries(filter, 400), ...queries(exact, 100), { slug: "s7" }]) {
      const expected = docs.filter((doc) => matchesReference(doc, query)).map(({ id }) => id)
      const matches = await collection.find(query, { limit: 1_000 })
      expect([matches.map(({ id }) => id), await collection.count(query)], JSON.stringify(query)).to.deep.equal([expected, expected.length])
    }
  })

  it("looks up long lists by the index of their field, and then puts what it found in order", async () => {
    const database = await planning()
    const { statementOf, toWire } = await import("../../core/storage/sqlite/query.ts")
    const planOf = (length: number, path: string) => {
      const filter = { [path]: { $in: Array.from({ length }, (_, n) => `v${n}`) } }
      const query = { collection: notes, organization: "o", limit: 10, deadlineMs: 1, after: undefined, filter, sort: [["id", 1]] as const }
      const { sql } = statementOf(toWire(query, 0), shapeOf(notes), false)
      return database
        .prepare(`EXPLAIN QUERY PLAN ${sql}`)
        .all()
        .map((row) => String(row["detail"]))
        .join("; ")
    }
    expect(planOf(100, "values.a")).to.include("$values.a=?").and.include("TEMP B-TREE")
    // An index with another leading field is useless: each value would need a scan.
    expect(planOf(2, "rank")).to.not.include("UNION")
    database.close()
  })
})
