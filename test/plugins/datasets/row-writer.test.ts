// Writing rows: the target row of a write, its allowed values, and the dataset's derived settings.
import { expect } from "chai"
import fc from "fast-check"
import type { Json } from "../../../core/contract/collection.ts"
import { StagedWork } from "../../../core/contract/unit-of-work.ts"
import { refusalOf } from "../../refusal.ts"
import { type DatasetBench, startBench } from "./dataset-bench.ts"

describe("row writer", () => {
  let bench: DatasetBench
  let count = 0
  let slug: string

  before(async () => {
    bench = await startBench()
  })
  after(() => bench.service.remove())
  beforeEach(async () => {
    slug = `leads-${++count}`
    await bench.ensure(slug)
  })
  const values = async () => (await bench.rows(slug)).map((row) => row.values)
  const staged = () => new StagedWork(bench.executionId())

  describe("unkeyed", () => {
    it("writes a row an event, in order of their executions, and the same row when written again", async () => {
      const executions = [bench.executionId(), bench.executionId(), bench.executionId()]
      const writes: string[] = []
      for (const executionId of executions) writes.push(await bench.event(slug, { n: 1 }, { executionId }))
      // The id starts with the execution's time in milliseconds, followed by a hash.
      expect(writes.map((id) => id.slice(0, 13))).to.deep.equal(executions.map((id) => id.slice(0, 13)))
      expect(new Set(writes).size).to.equal(3)
      expect(await bench.event(slug, { n: 1 }, { executionId: executions[0] ?? "" })).to.equal(writes[0])
      expect(await bench.rows(slug)).to.have.length(3)
    })

    it("tells steps and items of one execution apart", async () => {
      const executionId = bench.executionId()
      const writes = [
        await bench.event(slug, { a: 1 }, { executionId, stepId: "one" }),
        await bench.event(slug, { a: 1 }, { executionId, stepId: "two" }),
        await bench.event(slug, { a: 1 }, { executionId, stepId: "one", itemIndex: 1 }),
      ]
      expect(new Set(writes).size).to.equal(3)
    })
  })

  describe("keyed", () => {
    it("finds the row of a key again, and another for another value, dataset or organization", async () => {
      const first = await bench.event(slug, { email: "a@x.test", name: "Ada" }, { key: "email" })
      expect(await bench.event(slug, { email: "a@x.test", city: "Paris" }, { key: "email" })).to.equal(first)
      expect(await values()).to.deep.equal([{ email: "a@x.test", name: "Ada", city: "Paris" }])
      expect(await bench.event(slug, { email: "b@x.test" }, { key: "email" })).to.not.equal(first)
      await bench.ensure(`${slug}-b`)
      expect(await bench.event(`${slug}-b`, { email: "a@x.test" }, { key: "email" })).to.not.equal(first)
      expect(first[14]).to.equal("8")
    })

    it("takes a number and its digits for one key", async () => {
      expect(await bench.event(slug, { id: 42 }, { key: "id" })).to.equal(await bench.event(slug, { id: "42" }, { key: "id" }))
    })

    it("fails without a value for the key, and leaves nothing", async () => {
      for (const row of [{}, { email: null }, { email: "" }, { email: ["a@x.test"] }, { email: {} }] as Record<string, Json>[]) {
        const error = await refusalOf(bench.event(slug, row, { key: "email" }))
        expect(error.code).to.equal("invalid_argument")
        expect(error.details).to.include({ reason: "key_missing", retryable: false })
        expect(error.message).to.include('"email"').and.include(slug)
      }
      expect((await refusalOf(bench.event(slug, {}, { key: "constructor" }))).details.reason).to.equal("key_missing")
      expect(await values()).to.deep.equal([])
      expect((await bench.dataset(slug)).key).to.equal(null)
    })

    it("fixes the key column with the first keyed write; another is refused and says which", async () => {
      await bench.event(slug, { email: "a@x.test" }, { key: "email" })
      expect((await bench.dataset(slug)).key).to.equal("email")
      const error = await refusalOf(bench.event(slug, { phone: "1" }, { key: "phone" }))
      expect([error.code, error.details.reason]).to.deep.equal(["failed_precondition", "key_column_mismatch"])
      expect(error.message).to.include('"email"').and.include('"phone"')
      expect(await values()).to.have.length(1)
    })

    it("does not fix it by a write that is never committed", async () => {
      await bench.stage(staged(), slug, { phone: "1" }, { key: "phone" })
      await bench.event(slug, { email: "a@x.test" }, { key: "email" })
      expect((await bench.dataset(slug)).key).to.equal("email")
    })

    it("lets concurrent first writes by one key all through", async () => {
      const emails = Array.from({ length: 40 }, (_, n) => `${n % 20}@x.test`)
      await Promise.all(emails.map((email) => bench.event(slug, { email }, { key: "email" })))
      expect(await bench.rows(slug)).to.have.length(20)
      expect((await bench.dataset(slug)).key).to.equal("email")
    })

    it("lets one of two concurrent first writes by different keys through, and never both", async () => {
      const outcomes = await Promise.allSettled([
        bench.event(slug, { email: "a@x.test", phone: "1" }, { key: "email" }),
        bench.event(slug, { email: "a@x.test", phone: "1" }, { key: "phone" }),
      ])
      expect(outcomes.map(({ status }) => status).sort()).to.deep.equal(["fulfilled", "rejected"])
      const lost = outcomes[0]?.status === "rejected" ? "email" : "phone"
      expect((await bench.dataset(slug)).key).to.equal(lost === "email" ? "phone" : "email")
      expect(await bench.rows(slug)).to.have.length(1)
      const error = await refusalOf(bench.event(slug, { email: "a@x.test", phone: "1" }, { key: lost }))
      expect(error.details.reason).to.equal("key_column_mismatch")
    })

    it("refuses two keys in one unit of work", async () => {
      await bench.datasets.get(bench.home.id, slug)
      const work = staged()
      await bench.stage(work, slug, { email: "a@x.test" }, { key: "email" })
      expect((await refusalOf(async () => bench.stage(work, slug, { phone: "1" }, { key: "phone" }))).details.reason).to.equal(
        "key_column_mismatch",
      )
    })

    it("lets a later write of the same execution win over its earlier one", async () => {
      const executionId = bench.executionId()
      const write = () =>
        bench.service.work(async (work) => {
          await bench.stage(
            work,
            slug,
            { email: "a", stage: "first" },
            { key: "email", executionId, receivedAt: "2026-01-01T00:00:00.000Z" },
          )
          await bench.stage(
            work,
            slug,
            { email: "a", stage: "second" },
            { key: "email", executionId, receivedAt: "2026-01-01T00:00:00.000Z" },
          )
        })
      await write()
      expect(await values()).to.deep.equal([{ email: "a", stage: "second" }])
      await write()
      expect(await values()).to.deep.equal([{ email: "a", stage: "second" }])
    })

    it("keeps the newest value of each column in any order of writes and repeats", async () => {
      const column = fc.constantFrom("a", "b", "c")
      const event = fc.record({
        columns: fc.dictionary(column, fc.integer({ min: 0, max: 9 }), { minKeys: 1 }),
        at: fc.integer({ min: 0, max: 3 }),
      })
      let run = 0
      await fc.assert(
        fc.asyncProperty(fc.array(event, { minLength: 2, maxLength: 5 }), fc.infiniteStream(fc.nat()), async (events, order) => {
          const email = `${run++}@x.test`
          const dated = events.map(({ columns, at }) => ({
            columns,
            executionId: bench.executionId(),
            receivedAt: `2026-01-01T00:00:0${at}.000Z`,
          }))
          const shuffled = [...dated, ...dated.slice(0, 2)].map((item) => [order.next().value, item] as const).sort(([a], [b]) => a - b)
          for (const [, { columns, ...origin }] of shuffled) await bench.event(slug, { email, ...columns }, { key: "email", ...origin })
          const expected: Record<string, Json> = { email }
          const byAge = [...dated].sort((a, b) => `${a.receivedAt} ${a.executionId}`.localeCompare(`${b.receivedAt} ${b.executionId}`))
          for (const { columns } of byAge) Object.assign(expected, columns)
          expect((await bench.rows(slug)).find((row) => row.values["email"] === email)?.values).to.deep.equal(expected)
        }),
        { numRuns: 25 },
      )
    })
  })

  describe("the hot path", () => {
    it("waits for nothing once the dataset is known", async () => {
      await bench.event(slug, { email: "a" }, { key: "email" })
      // Fixing the key made every node drop the dataset from its cache once.
      await bench.event(slug, { email: "a" }, { key: "email" })
      expect(bench.stage(staged(), slug, { email: "a" }, { key: "email" })).to.not.be.instanceOf(Promise)
      expect(bench.stage(staged(), slug, { email: "a" })).to.not.be.instanceOf(Promise)
    })

    it("stages one write for a row that teaches nothing new", async () => {
      await bench.event(slug, { email: "a", n: 1 }, { key: "email" })
      const work = staged()
      await bench.stage(work, slug, { email: "b", n: 2 }, { key: "email" })
      expect(work.writes.map(({ kind }) => kind)).to.deep.equal(["newest_wins"])
    })

    it("reads a missing dataset again each time, so that one made now takes rows at once", async () => {
      const missing = `${slug}-later`
      const error = await refusalOf(bench.event(missing, { a: 1 }))
      expect([error.code, error.details.reason]).to.deep.equal(["not_found", "dataset_not_found"])
      await bench.ensure(missing)
      await bench.event(missing, { a: 1 })
    })

    it("stops at once when the dataset is archived", async () => {
      await bench.event(slug, { a: 1 })
      await bench.service.call("datasets.update", { slug, status: "archived" })
      const error = await refusalOf(bench.event(slug, { a: 2 }))
      expect([error.code, error.details.reason]).to.deep.equal(["failed_precondition", "dataset_archived"])
      expect(await bench.rows(slug)).to.have.length(1)
      await bench.service.call("datasets.update", { slug, status: "active" })
      await bench.event(slug, { a: 2 })
    })
  })

  describe("references", () => {
    it("take the organization's own qualified slug, and no other's, nor a UUID", async () => {
      await bench.event(`${bench.home.slug}.${slug}`, { a: 1 })
      expect(await values()).to.deep.equal([{ a: 1 }])
      const { id } = await bench.dataset(slug)
      for (const reference of [`elsewhere.${slug}`, id, `${bench.home.slug}.${id}`]) {
        const error = await refusalOf(async () => bench.event(reference, { a: 1 }))
        expect([error.code, error.details.fields?.[0]?.path]).to.deep.equal(["invalid_argument", "dataset_slug"])
      }
      expect(await values()).to.have.length(1)
    })
  })

  describe("columns", () => {
    const columns = async () => await bench.service.call<{ columns: unknown[]; warnings: string[] }>("datasets.get", { slug })

    it("are learned from rows, in the order first seen; null teaches nothing", async () => {
      await bench.event(slug, { name: "Ada", age: 36, ok: true, at: "2026-01-02T03:04:05Z", tags: ["x"], nothing: null })
      await bench.event(slug, { name: "Bob", extra: 1 })
      expect(await columns()).to.deep.include({
        columns: [
          { name: "name", type: "string" },
          { name: "age", type: "number" },
          { name: "ok", type: "boolean" },
          { name: "at", type: "date-time" },
          { name: "tags", type: "json" },
          { name: "extra", type: "number" },
        ],
        warnings: [],
      })
    })

    it("that hold mixed types say so; text among times does not", async () => {
      await bench.event(slug, { budget: 5, when: "2026-01-02T03:04:05Z" })
      await bench.event(slug, { budget: "five", when: "tomorrow" })
      expect(await columns()).to.deep.include({
        columns: [
          { name: "budget", type: "json" },
          { name: "when", type: "string" },
        ],
        warnings: ['The column "budget" holds mixed types: number, string.'],
      })
    })

    it("are not learned from rows that were never committed", async () => {
      await bench.stage(staged(), slug, { ghost: 1 })
      expect(await columns()).to.deep.include({ columns: [] })
    })

    it("are learned by what other nodes and a restart see too: they stand in storage", async () => {
      await Promise.all(Array.from({ length: 10 }, (_, n) => bench.event(slug, { same: n })))
      expect((await bench.dataset(slug)).columns).to.deep.equal([{ name: "same", type: "number" }])
    })

    it("are listed up to 1,000; further ones are kept in rows all the same", async () => {
      const wide = Object.fromEntries(Array.from({ length: 1_001 }, (_, n) => [`c${n}`, n]))
      await bench.event(slug, wide)
      await bench.event(slug, wide)
      const id = await bench.event(slug, { another: 1 })
      expect((await bench.dataset(slug)).columns.length).to.be.within(1_000, 1_001)
      expect((await bench.rows(slug)).find((row) => row.id === id)?.values).to.deep.equal({ another: 1 })
    })
  })

  describe("values", () => {
    it("come back equal", async () => {
      const odd = ["toString", "constructor", "a b", "é", "0", "id", "values", "%", "'", '"', "a/b", "💡"]
      const json = fc.json({ maxDepth: 4 }).map((text) => JSON.parse(text) as Json)
      const sound = (value: Json): boolean => {
        const text = JSON.stringify(value)
        return text.isWellFormed() && !/\\ud[89a-f]|\\u0000|__proto__/i.test(text)
      }
      const column = fc.oneof(fc.constantFrom(...odd), fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_ -]{0,20}$/))
      const row = fc
        .dictionary(column, json.filter(sound), { maxKeys: 6 })
        .map((input) => JSON.parse(JSON.stringify(input)) as Record<string, Json>)
      const rows = new Map<string, Record<string, Json>>()
      await fc.assert(
        fc.asyncProperty(row, async (input) => {
          fc.pre(!Object.hasOwn(input, "__proto__"))
          rows.set(await bench.event(slug, input), input)
        }),
        { numRuns: 60 },
      )
      for (const stored of await bench.rows(slug)) expect(stored.values).to.deep.equal(rows.get(stored.id))
    })

    const deep = (levels: number): Json => (levels === 0 ? 1 : [deep(levels - 1)])
    const refused: [string, Record<string, Json>][] = [
      ["an empty column name", { "": 1 }],
      ["a dot in a column name", { "a.b": 1 }],
      ["a leading $", { $set: 1 }],
      ["NUL in a column name", { "a\0": 1 }],
      ["__proto__ as a column", JSON.parse('{"__proto__": 1}') as Record<string, Json>],
      ["NUL in a key within", { a: { "b\0": 1 } }],
      ["a lone surrogate in text", { a: "\ud800" }],
      ["a lone surrogate in a list", { a: [{ b: "x\udfff" }] }],
      ["a lone surrogate in a key", { a: { "\ud800": 1 } }],
      ["a lone surrogate in a column name", { "\ud800": 1 }],
      ["more than 100 levels", { a: deep(101) }],
      ["a number that is not one", { a: Number.NaN }],
      ["a column name beyond 256 characters", { ["x".repeat(257)]: 1 }],
    ]
    for (const [what, row] of refused) {
      it(`are refused with ${what}, and nothing is written`, async () => {
        const error = await refusalOf(bench.event(slug, row))
        expect(error.code).to.equal("invalid_argument")
        expect(error.details).to.include({ reason: "row_not_storable", retryable: false })
        expect(error.message.isWellFormed()).to.equal(true)
        expect(await values()).to.deep.equal([])
      })
    }

    it("take 100 levels, NUL in text, a $ and a dot in keys within, and both halves of a pair", async () => {
      const row = { a: deep(100), b: "x\0y", c: { $set: 1, "d.e": 2 }, f: "\ud83d\udca1" }
      await bench.event(slug, row)
      expect(await values()).to.deep.equal([row])
    })
  })
})
