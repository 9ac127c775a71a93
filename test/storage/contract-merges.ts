// The contract of merges: the newest value of each column wins, in any order and grouping of the writes.
import { expect } from "chai"
import fc from "fast-check"
import type { Json } from "../../core/contract/collection.ts"
import type { Write } from "../../core/contract/store.ts"
import { byTier } from "../tier.ts"
import { acme, type Bench, rival, rows } from "./contract.ts"

interface Merged {
  readonly position: string
  readonly values: Record<string, Json>
}

export function mergeContract(bench: Bench): void {
  const merge = (id: string, { position, values }: Merged): Write => {
    const doc = { id, dataset_id: "d1", values, created_at: stampOf(position), updated_at: stampOf(position) }
    return { kind: "newest_wins", collection: rows, organization: acme, doc, position }
  }
  const stampOf = (position: string) => `2026-01-01T00:00:00.0${position.slice(-2)}Z`
  const at = (n: number) => `2026-01-01T00:00:00.0${String(n).padStart(2, "0")}Z/e${String(n).padStart(2, "0")}`
  const read = async (id: string) => bench.store.open(rows, acme).get(id)

  describe("a merge", () => {
    it("makes a missing row and says so", async () => {
      const id = bench.id("row")
      expect((await bench.commit(merge(id, { position: at(1), values: { a: 1 } }))).created).to.deep.equal([true])
      expect((await bench.commit(merge(id, { position: at(2), values: { a: 2 } }))).created).to.deep.equal([false])
      expect(await read(id)).to.deep.include({ id, organization_id: acme, dataset_id: "d1", values: { a: 2 } })
      expect(await bench.store.open(rows, rival).get(id)).to.equal(undefined)
    })

    it("leaves newer columns alone and fills the ones that only the older write has", async () => {
      const id = bench.id("row")
      await bench.commit(merge(id, { position: at(5), values: { a: "new" } }))
      await bench.commit(merge(id, { position: at(3), values: { a: "old", b: "old" } }))
      await bench.commit(merge(id, { position: at(4), values: { b: "newer" } }))
      await bench.commit(merge(id, { position: at(2), values: { b: "oldest", c: null } }))
      expect((await read(id))?.["values"]).to.deep.equal({ a: "new", b: "newer", c: null })
    })

    it("repeated changes nothing", async () => {
      const id = bench.id("row")
      const write = merge(id, { position: at(3), values: { a: { deep: [1] } } })
      await bench.commit(write)
      const first = await read(id)
      await bench.commit(write)
      expect(await read(id)).to.deep.equal(first)
    })

    it("takes columns of any name that a row may have", async () => {
      const id = bench.id("row")
      const values = { constructor: 1, toString: "x", "a b": 2, prototype: null, é: true }
      await bench.commit(merge(id, { position: at(1), values: { constructor: 0 } }))
      await bench.commit(merge(id, { position: at(2), values }))
      expect((await read(id))?.["values"]).to.deep.equal(values)
    })

    it("ends in one state in any order", async () => {
      const value = fc.oneof(fc.integer(), fc.string({ maxLength: 4 }), fc.constant(null))
      const column = fc.constantFrom("a", "b", "c", "d")
      const set = fc
        .array(fc.dictionary(column, value, { noNullPrototype: true }), { minLength: 2, maxLength: 6 })
        .map((list) => list.map((values, index): Merged => ({ position: at(index + 10), values })))
      const orders = set.chain((list) => fc.tuple(fc.constant(list), fc.shuffledSubarray(list, { minLength: list.length })))
      await fc.assert(
        fc.asyncProperty(orders, fc.boolean(), async ([list, shuffled], together) => {
          const [straight, mixed] = [bench.id("row"), bench.id("row")]
          await Promise.all(list.map((step) => bench.commit(merge(straight, step))))
          if (together) await bench.commit(...shuffled.map((step) => merge(mixed, step)))
          else for (const step of shuffled) await bench.commit(merge(mixed, step))
          const [a, b] = [await read(straight), await read(mixed)]
          expect(b?.["values"]).to.deep.equal(Object.assign({}, ...list.map((step) => step.values)))
          expect({ ...b, id: "" }).to.deep.equal({ ...a, id: "" })
        }),
        { numRuns: byTier({ fast: 15, slow: 40, soak: 40 }) },
      )
    })
  })
}
