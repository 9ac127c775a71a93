// The contract of content: JSON that resembles other types returns as stored, for every kind of write.
import { expect } from "chai"
import type { Json } from "../../core/contract/collection.ts"
import type { Filter, Update, Write } from "../../core/contract/store.ts"
import { hostileJson } from "../hostile-json.ts"
import { acme, type Bench, type Note, notes, rows } from "./contract.ts"

const target = () => ({ collection: notes, organization: acme })

/** Each stores the value at `v` of a new document. */
const ways: Record<string, (id: string, value: Json) => Write[]> = {
  insert: (id, v) => [{ kind: "insert", ...target(), doc: noteOf({ id, v }) }],
  $set: (id, v) => [insertOf(id, {}), updateOf(id, { $set: { v } })],
  "$set of a deep field": (id, v) => [
    insertOf(id, { v: {} }),
    ...Object.entries(v as object).map(([name, value]) => updateOf(id, { $set: { [`v.${name}`]: value } })),
  ],
  $setOnInsert: (id, v) => [{ kind: "update", ...target(), id, update: { $setOnInsert: { v } }, upsert: true }],
  $push: (id, v) => [insertOf(id, {}), updateOf(id, { $push: { list: v } })],
  $addToSet: (id, v) => [insertOf(id, {}), updateOf(id, { $addToSet: { list: v } }), updateOf(id, { $addToSet: { list: v } })],
}

function noteOf(note: Note): Note {
  return note
}

function insertOf(id: string, fields: Omit<Note, "id">): Write {
  return { kind: "insert", ...target(), doc: noteOf({ ...fields, id }) }
}

function updateOf(id: string, update: Update): Write {
  return { kind: "update", ...target(), id, update }
}

/** Cases are committed in parallel, so commit groups contain several. */
const forEach = (check: (value: Json, title: string) => Promise<void>) =>
  Promise.all(hostileJson.map(([title, value]) => check(value as Json, title)))

export function hostileContract(bench: Bench): void {
  const stored = async (id: string) => bench.notes().get(id)

  describe("content that looks like something else", () => {
    for (const [way, writes] of Object.entries(ways)) {
      it(`comes back as stored by ${way}`, () =>
        forEach(async (value, title) => {
          const id = bench.id()
          for (const write of writes(id, value)) await bench.commit(write)
          const note = await stored(id)
          const values = (note?.["list"] ?? [note?.["v"]]) as Json[]
          expect(JSON.stringify(values), `${way} ${title}`).to.equal(JSON.stringify([value]))
        }))
    }

    it("is found by equality, and pulled from a list", () =>
      forEach(async (value, title) => {
        const id = bench.id()
        await bench.insert(noteOf({ id, v: value, list: [value] }))
        const filter: Filter = { v: { $eq: value }, id }
        expect(
          (await bench.notes().find(filter)).map((note) => note.id),
          title,
        ).to.deep.equal([id])
        await bench.commit(updateOf(id, { $pull: { list: value } }))
        expect((await stored(id))?.["list"], title).to.deep.equal([])
      }))

    it("is merged into a row", () =>
      forEach(async (value, title) => {
        const id = bench.id("row")
        const at = "2026-01-01T00:00:00.000Z"
        const merge = (position: string, values: Record<string, Json>): Write => ({
          kind: "newest_wins",
          collection: rows,
          organization: acme,
          doc: { ...noteOf({ id, dataset_id: "d1" }), values, created_at: at, updated_at: at },
          position,
        })
        await bench.commit(merge("1", { a: value, _bsontype: 1, kept: value }))
        await bench.commit(merge("2", { a: [value], _bsontype: value }))
        const back = (await bench.store.open(rows, acme).get(id))?.["values"]
        expect(back, title).to.deep.equal({ a: [value], _bsontype: value, kept: value })
      }))
  })
}
