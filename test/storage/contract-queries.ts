// The contract of reads: filters, order, paging, counting and streaming, by example and against a reference.
import { expect } from "chai"
import fc from "fast-check"
import type { Json } from "../../core/contract/collection.ts"
import type { Filter, FindOptions, Scalar, Sort } from "../../core/contract/store.ts"
import { refusalOf } from "../refusal.ts"
import { byTier } from "../tier.ts"
import type { Bench, Note } from "./contract.ts"
import { matchesReference, sortReference } from "./reference.ts"

export function queryContract(bench: Bench): void {
  examples(bench)
  paging(bench)
  properties(bench)
}

function examples(bench: Bench): void {
  describe("a filter", () => {
    const mark = () => bench.id("set")
    let set = ""
    before(async () => {
      set = mark()
      const docs: [string, object][] = [
        ["null", { v: null }],
        ["absent", {}],
        ["zero", { v: 0 }],
        ["one", { v: 1 }],
        ["text", { v: "1" }],
        ["true", { v: true }],
        ["false", { v: false }],
        ["list", { v: [1, "x", null] }],
        ["nested", { v: [[1, 2], { k: 1 }] }],
        ["empty list", { v: [] }],
        ["object", { v: { k: 1 } }],
        ["deep", { v: [{ k: 1 }, { k: 2, l: 3 }] }],
        ["like a list", { v: "[1]" }],
        ["like an object", { v: '{"k":1}' }],
      ]
      await bench.insert(...docs.map(([name, doc]): Note => ({ id: bench.id(), set, name, ...doc })))
    })

    const cases: [string, Filter, string[]][] = [
      ["a number, also inside a list", { v: 1 }, ["one", "list"]],
      ["text, not the number", { v: "1" }, ["text"]],
      ["true, not 1", { v: true }, ["true"]],
      ["false, not 0", { v: { $eq: false } }, ["false"]],
      ["null, and what is absent", { v: null }, ["null", "absent", "list"]],
      ["a list as a whole or an element", { v: [1, 2] }, ["nested"]],
      ["an object as a whole or an element", { v: { $eq: { k: 1 } } }, ["object", "nested", "deep"]],
      ["what text only looks like", { v: "[1]" }, ["like a list"]],
      ["$in with null", { v: { $in: [null, 0] } }, ["null", "absent", "zero", "list"]],
      ["$ne", { v: { $ne: 1 } }, allBut("one", "list")],
      ["$nin", { v: { $nin: [null, "1"] } }, allBut("null", "absent", "list", "text")],
      ["$gt within the type", { v: { $gt: 0 } }, ["one", "list"]],
      ["$gte null", { v: { $gte: null } }, ["null", "absent", "list"]],
      ["$gt null", { v: { $gt: null } }, []],
      ["$lt of text", { v: { $lt: "2" } }, ["text"]],
      ["$gte of booleans", { v: { $gte: false } }, ["true", "false"]],
      ["$exists", { v: { $exists: true } }, allBut("absent")],
      ["$exists: false", { v: { $exists: false } }, ["absent"]],
      ["$not", { v: { $not: { $gte: 1 } } }, allBut("one", "list")],
      ["a path through lists", { "v.k": 2 }, ["deep"]],
      ["a path that leads nowhere", { "v.k": { $exists: true } }, ["nested", "object", "deep"]],
      ["$or and $and", { $or: [{ v: 0 }, { $and: [{ v: { $gt: 0 } }, { v: "x" }] }] }, ["zero", "list"]],
      ["an empty $in", { v: { $in: [] } }, []],
    ]
    for (const [name, filter, expected] of cases) {
      it(`finds ${name}`, async () => {
        const note = await bench.notes().find({ set, ...filter })
        expect(note.map((doc) => doc["name"])).to.have.members(expected)
        expect(await bench.notes().count({ $and: [{ set }, filter] })).to.equal(expected.length)
      })
    }

    it("finds the documents of a list of ids, short or long, alone or with more", async () => {
      const own = (await bench.notes().find({ set })).map((doc) => doc.id)
      for (const length of [1, 3, 300, 2_000]) {
        const ids = [...own.slice(0, length), ...Array.from({ length: length - own.slice(0, length).length }, () => bench.id())]
        const note = await bench.notes().find({ id: { $in: ids } }, { limit: ids.length })
        expect(note.map((doc) => doc.id)).to.have.members(own.slice(0, length))
        expect(await bench.notes().count({ id: { $in: ids } })).to.equal(note.length)
        const narrowed = await bench.notes().find({ id: { $in: ids }, name: { $in: ["null", "absent"] } })
        expect(narrowed).to.deep.equal(note.filter((doc) => ["null", "absent"].includes(String(doc["name"]))))
      }
    })

    function allBut(...names: string[]): string[] {
      const every = ["null", "absent", "zero", "one", "text", "true", "false", "list", "nested", "empty list", "object", "deep"]
      return [...every, "like a list", "like an object"].filter((name) => !names.includes(name))
    }
  })
}

function paging(bench: Bench): void {
  describe("order and paging", () => {
    const values: (Json | undefined)[] = [undefined, null, -1, 0, 2, 10, "", "A", "a", "é", "\uffee", "😀", false, true]
    let set = ""
    before(async () => {
      set = bench.id("set")
      const docs = values.flatMap((value, index): Note[] =>
        [0, 1].map((twin) => ({ id: bench.id(), set, index, twin, ...(value === undefined ? {} : { value }) })),
      )
      await bench.insert(...docs.reverse())
    })

    it("puts null before numbers, text by code point and booleans", async () => {
      const up = await bench.notes().find({ set }, { sort: { value: 1, index: 1 }, limit: 100 })
      expect(up.map((doc) => doc["index"])).to.deep.equal(values.flatMap((_, index) => [index, index]))
      const down = await bench.notes().find({ set }, { sort: { value: -1 }, limit: 100 })
      expect(down.map((doc) => doc["value"] ?? null)).to.deep.equal(up.map((doc) => doc["value"] ?? null).reverse())
    })

    const inPages = async (filter: Filter, sort: Sort) => {
      const keys = [...Object.keys(sort).filter((key) => key !== "id"), "id"]
      const walked: Note[] = []
      for (let after: readonly Scalar[] | undefined; ; ) {
        const options: FindOptions = { sort, limit: 5, ...(after ? { after } : {}) }
        const page = await bench.notes().find(filter, options)
        walked.push(...page)
        const last = page.at(-1)
        if (!last) return walked
        after = keys.map((key) => (last[key] ?? null) as Scalar)
      }
    }

    const sorts: Sort[] = [{}, { id: -1 }, { value: 1 }, { value: -1 }, { twin: 1, value: -1 }, { value: 1, twin: -1, id: 1 }]
    for (const sort of sorts) {
      it(`walks in pages by ${JSON.stringify(sort)} without a gap or a repeat`, async () => {
        const whole = await bench.notes().find({ set }, { sort, limit: 100 })
        expect(whole).to.have.length(values.length * 2)
        const walked = await inPages({ set }, sort)
        expect(walked).to.deep.equal(whole)
      })
    }

    it("walks in pages through what has one of several values, a list that holds two of them once", async () => {
      const [first, second] = [bench.id("group"), bench.id("group")]
      const docs = Array.from({ length: 30 }, (_, rank): Note => ({ id: bench.id(), group: [first, second, null][rank % 3] ?? null, rank }))
      await bench.insert(...docs, { id: bench.id(), group: [first, second], rank: 99 }, { id: bench.id(), group: ["other"], rank: 98 })
      const ranks = [...docs.flatMap(({ group, rank }) => (group === null ? [] : Number(rank))), 99]
      for (const more of [[], ["nobody's", first], Array.from({ length: 40 }, (_, n) => `group ${n}`)]) {
        const filter = { group: { $in: [first, second, ...more] } }
        expect((await inPages(filter, { rank: 1 })).map(({ rank }) => rank)).to.deep.equal(ranks)
        const newest = (await inPages(filter, { id: -1 })).map(({ id }) => id)
        expect(newest)
          .to.deep.equal([...newest].sort().reverse())
          .and.to.have.length(ranks.length)
      }
    })

    it("refuses to page past a list", async () => {
      await bench.insert(...Array.from({ length: 600 }, (_, n) => ({ id: bench.id("listed"), set: "listed", value: [n] })))
      const walk = async () => {
        for await (const _ of bench.notes().stream({ set: "listed" }, { sort: { value: 1 } }));
      }
      const error = await refusalOf(walk())
      expect([error.code, error.details.reason]).to.deep.equal(["failed_precondition", "unsortable_value"])
    })

    it("streams every match in order, and at most the limit", async () => {
      const whole = await bench.notes().find({ set }, { sort: { value: -1 }, limit: 100 })
      const streamed: Note[] = []
      for await (const doc of bench.notes().stream({ set }, { sort: { value: -1 } })) streamed.push(doc)
      expect(streamed).to.deep.equal(whole)
      const few: Note[] = []
      for await (const doc of bench.notes().stream({ set }, { limit: 3 })) few.push(doc)
      expect(few).to.have.length(3)
    })

    it("counts at most the limit", async () => {
      expect(await bench.notes().count({ set }, { limit: 7 })).to.equal(7)
      expect(await bench.notes().count({ set })).to.equal(values.length * 2)
    })

    it("finds by indexed fields together with their order", async () => {
      const group = bench.id("group")
      await bench.insert(...[3, 1, 2, 2].map((rank) => ({ id: bench.id(), group, rank })), { id: bench.id(), group, rank: [9] })
      const note = await bench.notes().find({ group, rank: { $lte: 2 } }, { sort: { rank: -1 } })
      expect(note.map((doc) => doc["rank"])).to.deep.equal([2, 2, 1])
      expect(await bench.notes().find({ group, rank: 9 })).to.have.length(1)
      expect((await bench.notes().first({ group: { $in: [group, "other"] } }, { sort: { rank: 1 } }))?.["rank"]).to.equal(1)
    })
  })
}

export const scalar = fc.constantFrom<Scalar>(null, true, false, 0, 1, 2, -1, 1.5, "", "a", "b", "é", "1")
const object = fc.dictionary(fc.constantFrom("x", "y"), scalar, { maxKeys: 2, noNullPrototype: true })
const value: fc.Arbitrary<Json> = fc.oneof(
  { weight: 4, arbitrary: scalar },
  { weight: 1, arbitrary: fc.array(scalar, { maxLength: 3 }) },
  { weight: 1, arbitrary: object },
  { weight: 1, arbitrary: fc.array(object, { maxLength: 2 }) },
)
const path = fc.constantFrom("values.a", "values.b", "values.a.x", "group", "rank")
const operand = fc.oneof({ weight: 5, arbitrary: scalar }, { weight: 1, arbitrary: fc.array(scalar, { maxLength: 2 }) })
const comparison = fc
  .tuple(fc.constantFrom("$gt", "$gte", "$lt", "$lte", "$eq", "$ne"), scalar)
  .map(([operator, against]) => ({ [operator]: against }))
const membership = fc
  .tuple(fc.constantFrom("$in", "$nin"), fc.array(scalar, { maxLength: 3 }))
  .map(([operator, list]) => ({ [operator]: list }))
const condition = fc.oneof(
  operand,
  comparison,
  membership,
  fc.boolean().map(($exists) => ({ $exists })),
  comparison.map(($not) => ({ $not })),
  fc.tuple(comparison, membership).map(([a, b]) => ({ ...a, ...b })),
)
const single = fc.tuple(path, condition).map(([at, what]): Filter => ({ [at]: what as Json }))
export const filter = fc.oneof(
  single,
  fc.array(single, { minLength: 1, maxLength: 3 }).map(($and): Filter => ({ $and })),
  fc.array(single, { minLength: 1, maxLength: 3 }).map(($or): Filter => ({ $or })),
  fc.tuple(single, single).map(([a, b]): Filter => ({ ...a, $or: [b, a] })),
)

function properties(bench: Bench): void {
  it("any filter finds what the reference finds", async () => {
    // Only one of two indexed fields may contain a list: MongoDB refuses a document with lists in both.
    const docs = fc.sample(fc.record({ "values.a": value, "values.b": value, group: scalar, rank: value }, { requiredKeys: [] }), {
      numRuns: 150,
      seed: 7,
    })
    const set = bench.id("set")
    const stored = docs.map((doc): Note => {
      const { "values.a": a, "values.b": b, ...rest } = doc
      return { id: bench.id(), set, ...rest, values: { ...(a === undefined ? {} : { a }), ...(b === undefined ? {} : { b }) } }
    })
    await bench.insert(...stored)
    const queries = fc.sample(filter, { numRuns: byTier({ fast: 130, slow: 400, soak: 400 }), seed: 11 })
    for (const query of queries) {
      const note = await bench.notes().find({ $and: [{ set }, query] }, { limit: 1_000 })
      const expected = stored.filter((doc) => matchesReference(doc, query))
      expect(
        note.map((doc) => doc.id),
        JSON.stringify(query),
      ).to.deep.equal(expected.map((doc) => doc.id))
    }
  })

  it("any order of scalars is the reference's", async () => {
    const set = bench.id("set")
    const docs = fc.sample(fc.record({ p: scalar, q: scalar }, { requiredKeys: [] }), { numRuns: 120, seed: 3 })
    const stored = docs.map((doc): Note => ({ id: bench.id(), set, ...doc }))
    await bench.insert(...stored)
    for (const [p, q, last] of [
      [1, 1, 1],
      [1, -1, -1],
      [-1, 1, 1],
      [-1, -1, -1],
    ] as const) {
      const note = await bench.notes().find({ set }, { sort: { p, q }, limit: 1_000 })
      const expected = sortReference(stored, [
        ["p", p],
        ["q", q],
        ["id", last],
      ])
      expect(note.map((doc) => doc.id)).to.deep.equal(expected.map((doc) => doc.id))
    }
  })
}
