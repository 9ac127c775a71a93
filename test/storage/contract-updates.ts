// The contract of updates and removals: operators, conditions, upserts and their refusals.
import { expect } from "chai"
import type { Update, Write } from "../../core/contract/store.ts"
import { refusalOf } from "../refusal.ts"
import { acme, type Bench, type Note, notes } from "./contract.ts"

export function updateContract(bench: Bench): void {
  const update = (id: string, change: Update, more: object = {}): Write => ({
    kind: "update",
    collection: notes,
    organization: acme,
    id,
    update: change,
    ...more,
  })

  async function changed(doc: Omit<Note, "id">, change: Update): Promise<object> {
    const id = bench.id()
    await bench.insert({ ...doc, id })
    await bench.commit(update(id, change))
    const { id: _id, organization_id, ...rest } = (await bench.notes().get(id)) ?? { id: "" }
    expect(organization_id).to.equal(acme)
    return rest
  }

  describe("an update", () => {
    it("sets, also deep, and makes the objects on the way", async () => {
      expect(await changed({ a: 1 }, { $set: { a: 2, "b.c.d": [1], e: null } })).to.deep.equal({ a: 2, b: { c: { d: [1] } }, e: null })
    })

    it("sets an element of a list by its position", async () => {
      expect(await changed({ steps: [{ s: "a" }, { s: "b" }] }, { $set: { "steps.1.s": "done" } })).to.deep.equal({
        steps: [{ s: "a" }, { s: "done" }],
      })
    })

    it("unsets, also what is not there", async () => {
      expect(await changed({ a: 1, b: { c: 2, d: 3 } }, { $unset: { a: true, "b.c": true, "x.y": true } })).to.deep.equal({ b: { d: 3 } })
    })

    it("increments, from nothing too", async () => {
      expect(await changed({ a: 1, b: { c: 2.5 } }, { $inc: { a: 2, "b.c": -1, d: 7 } })).to.deep.equal({ a: 3, b: { c: 1.5 }, d: 7 })
    })

    it("pushes, adds to sets and pulls", async () => {
      const doc = { list: [1], set: ["a", { k: 1 }], bag: [1, 2, 1, [1]] }
      const change = { $push: { list: { x: 1 }, made: "y" }, $addToSet: { set: "a" }, $pull: { bag: 1, absent: 1 } }
      expect(await changed(doc, change)).to.deep.equal({ list: [1, { x: 1 }], made: ["y"], set: ["a", { k: 1 }], bag: [2, [1]] })
      expect(await changed({ set: [{ k: 1 }] }, { $addToSet: { set: { k: 1 } } })).to.deep.equal({ set: [{ k: 1 }] })
      expect(await changed({ set: [{ k: 1 }] }, { $addToSet: { set: { k: 2 } } })).to.deep.equal({ set: [{ k: 1 }, { k: 2 }] })
      expect(await changed({ bag: [{ k: 1, z: 2 }, { k: 1 }] }, { $pull: { bag: { k: 1 } } })).to.deep.equal({ bag: [{ k: 1, z: 2 }] })
    })

    for (const [what, doc, change] of [
      ["$inc of text", { a: "1" }, { $inc: { a: 1 } }],
      ["$push to what is not a list", { a: "1" }, { $push: { a: 1 } }],
      ["$addToSet to what is not a list", { a: { b: 1 } }, { $addToSet: { a: 1 } }],
      ["$pull from what is not a list", { a: 5 }, { $pull: { a: 1 } }],
      ["$set below a number", { a: 5 }, { $set: { "a.b": 1 } }],
    ] as const) {
      it(`refuses ${what} and leaves the document as it was`, async () => {
        const id = bench.id()
        await bench.insert({ ...doc, id })
        const { code, details } = await refusalOf(bench.commit(update(id, change)))
        expect([code, details.reason]).to.deep.equal(["failed_precondition", "value_type_mismatch"])
        expect(await bench.notes().get(id)).to.deep.equal({ ...doc, id, organization_id: acme })
      })
    }

    it("of a document that is not there is not_found, unless optional", async () => {
      const id = bench.id()
      expect((await refusalOf(bench.commit(update(id, { $set: { a: 1 } })))).code).to.equal("not_found")
      expect((await bench.commit(update(id, { $set: { a: 1 } }, { optional: true }))).created).to.deep.equal([false])
      expect(await bench.notes().get(id)).to.equal(undefined)
    })

    it("with a stale revision is aborted and names the current one", async () => {
      const id = bench.id()
      await bench.insert({ id, revision: 4 })
      const error = await refusalOf(bench.commit(update(id, { $set: { a: 1 } }, { where: { revision: 3 } })))
      expect(error.code).to.equal("aborted")
      expect(error.details).to.include({ reason: "revision_mismatch", current_revision: 4 })
      await bench.commit(update(id, { $set: { a: 1 } }, { where: { revision: 3 }, optional: true }))
      expect(await bench.notes().get(id)).to.not.have.property("a")
    })

    it("with another condition unmet is aborted", async () => {
      const id = bench.id()
      await bench.insert({ id, state: "done", list: [1, 2] })
      const error = await refusalOf(bench.commit(update(id, { $set: { a: 1 } }, { where: { state: { $in: ["open", "new"] } } })))
      expect(error.code).to.equal("aborted")
      await bench.commit(update(id, { $set: { a: 1 } }, { where: { list: 2, "gone.deep": null } }))
      expect(await bench.notes().get(id)).to.include({ a: 1 })
    })

    it("makes a missing document with upsert, and only then sets on insert", async () => {
      const id = bench.id()
      const write = update(id, { $set: { a: 1, "v.x": 2 }, $setOnInsert: { made: "once", "v.y": 3 } }, { upsert: true })
      expect((await bench.commit(write)).created).to.deep.equal([true])
      expect(await bench.notes().get(id)).to.deep.equal({ id, organization_id: acme, a: 1, v: { x: 2, y: 3 }, made: "once" })
      const again = update(id, { $set: { a: 5 }, $setOnInsert: { made: "twice" } }, { upsert: true })
      expect((await bench.commit(again)).created).to.deep.equal([false])
      expect(await bench.notes().get(id)).to.include({ a: 5, made: "once" })
    })
  })

  describe("a removal", () => {
    const remove = (id: string, more: object = {}): Write => ({ kind: "remove", collection: notes, organization: acme, id, ...more })

    it("of a document that is not there is not_found, unless optional", async () => {
      const id = bench.id()
      expect((await refusalOf(bench.commit(remove(id)))).code).to.equal("not_found")
      await bench.commit(remove(id, { optional: true }))
    })

    it("with a condition unmet is aborted", async () => {
      const id = bench.id()
      await bench.insert({ id, revision: 2 })
      const error = await refusalOf(bench.commit(remove(id, { where: { revision: 1 } })))
      expect(error.details).to.include({ reason: "revision_mismatch", current_revision: 2 })
      expect(await bench.notes().get(id)).to.include({ revision: 2 })
      await bench.commit(remove(id, { where: { revision: 2 } }))
      expect(await bench.notes().get(id)).to.equal(undefined)
    })
  })
}
