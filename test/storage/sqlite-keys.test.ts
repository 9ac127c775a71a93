// Keys of the embedded store. Ids keep their order in every stored form, and a key computed from a document equals the one
// computed by SQL from its text.
import { DatabaseSync } from "node:sqlite"
import { expect } from "chai"
import fc from "fast-check"
import { defineCollection } from "../../core/contract/collection.ts"
import { compareText } from "../../core/storage/match.ts"
import { idKey, idOf } from "../../core/storage/sqlite/id-key.ts"
import { columnsOf, keyReader, keySql } from "../../core/storage/sqlite/keys.ts"
import { shapeOf, storedText, wholeText } from "../../core/storage/sqlite/shape.ts"
import { byTier } from "../tier.ts"
import { notes } from "./contract.ts"

const hex = "0123456789abcdef"
const uuid = fc.uuid()
const nearUuid = fc
  .tuple(uuid, fc.nat(36), fc.constantFrom("", "-", "/", "0", "9", ":", "A", "F", "a", "f", "g", "~", "é", "🦊"), fc.nat(37))
  .map(([id, at, put, length]) => (id.slice(0, at) + put + id.slice(at + 1)).slice(0, length))
const extreme = fc.constantFrom("00000000-0000-0000-0000-000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff", "0", "00000000", "f", "g")
const text = fc.string({ unit: "grapheme", maxLength: 40 })
const id = fc
  .oneof(uuid, nearUuid, extreme, text, fc.string({ unit: fc.constantFrom(...hex, "-"), maxLength: 40 }))
  // The store accepts no id with half a character.
  .filter((key) => key !== "" && key.isWellFormed())

/** Each compared with each. */
const pairedIds = byTier({ fast: 150, slow: 300, soak: 300 })

describe("storage: sqlite keys", () => {
  const database = new DatabaseSync(":memory:")
  after(() => database.close())
  const order = database.prepare("SELECT CASE WHEN a<b THEN -1 WHEN a>b THEN 1 ELSE 0 END AS sign FROM (SELECT ? AS a, ? AS b)")

  it("a canonical UUID takes 16 bytes, and nothing else does", () => {
    expect(idKey("0199aaaa-0000-7000-8000-0123456789ab")).to.deep.equal(
      Buffer.from("0199aaaa00007000800001234567 89ab".replace(" ", ""), "hex"),
    )
    for (const other of [
      "0199AAAA-0000-7000-8000-0123456789AB",
      "0199aaaa00007000800001234567 89ab",
      "0199aaaa-0000-7000-8000-0123456789abc",
    ])
      expect(idKey(other)).not.to.have.length(16)
  })

  it("ids keep the order of their text, and never meet", () => {
    fc.assert(
      fc.property(id, id, (a, b) => {
        expect(order.get(idKey(a), idKey(b))?.["sign"], `${a} and ${b}`).to.equal(Math.sign(compareText(a, b)))
        expect(idOf(idKey(a))).to.equal(a)
      }),
      { numRuns: byTier({ fast: 1_500, slow: 5_000, soak: 5_000 }) },
    )
    const [list] = fc.sample(fc.array(id, { minLength: pairedIds, maxLength: pairedIds }), { numRuns: 1, seed: 5 })
    for (const a of list ?? [])
      for (const b of list ?? []) expect(order.get(idKey(a), idKey(b))?.["sign"]).to.equal(Math.sign(compareText(a, b)))
  })

  it("a key read from a document is what SQL makes of its text", () => {
    const paths = ["v", "v.k", "w.k.l"]
    const spec = defineCollection()({ name: "keyed", scope: "global", times: [], indexes: [{ fields: paths }] })
    const read = keyReader(columnsOf(spec))
    const sql = database.prepare(
      `SELECT ${paths.map((path, at) => `k${at}=${keySql(path)} AND (typeof(k${at}) IN ('text','blob'))=(typeof(${keySql(path)}) IN ('text','blob')) AS same${at}`).join(",")}
       FROM (SELECT ? AS data, ? AS k0, ? AS k1, ? AS k2)`,
    )
    const scalar = fc.oneof(
      fc.constantFrom(null, true, false, 0, -0, 1e300, Number.NaN, Number.POSITIVE_INFINITY, new Date(0), undefined),
      // SQL and JavaScript read integers beyond 2^53 differently; a column has JavaScript's value.
      fc.double().filter((index) => !Number.isInteger(index) || Number.isSafeInteger(index) || Math.abs(index) >= 1e21),
      fc.maxSafeInteger(),
      fc.string({ unit: "grapheme" }).filter((key) => !key.includes("\0")),
    )
    const value = fc.oneof(scalar, fc.array(scalar, { maxLength: 2 }), fc.dictionary(fc.constantFrom("k", "l"), scalar, { maxKeys: 2 }))
    const deep = fc.record({ k: fc.oneof(value, fc.record({ l: value })) })
    fc.assert(
      fc.property(fc.record({ v: value, w: fc.oneof(value, deep) }, { requiredKeys: [] }), (doc) => {
        const cells: (string | number | Uint8Array | null)[] = []
        read(doc, cells)
        const stored = JSON.stringify(doc)
        const [multi, ...keys] = cells
        expect(Object.values(sql.get(stored, ...keys) ?? {}), stored).to.deep.equal([1, 1, 1])
        const parsed: (string | number | Uint8Array | null)[] = []
        read(JSON.parse(stored) as object, parsed)
        expect(parsed).to.deep.equal([multi, ...keys])
      }),
      { numRuns: 2_000 },
    )
  })

  it("a document is what its text and the columns of its row say, and the text repeats none of them", () => {
    const spec = defineCollection()({
      name: "shaped",
      scope: "organization",
      times: ["until"],
      indexes: [{ fields: ["v", "w.k"] }, { fields: ["x"], sparse: true }],
      expires: "until",
    })
    const [read, shape] = [keyReader(columnsOf(spec)), shapeOf(spec)]
    const places = ["data", "id", ...shape.fields.map(({ column }) => column)]
    const columns = ["data", "id", "multi", ...columnsOf(spec).map(({ name }) => `"${name}"`)]
    const row = database.prepare(`SELECT ${places.join(",")} FROM (SELECT ${columns.map((name) => `? AS ${name}`).join(",")})`)
    row.setReturnArrays(true)
    const scalar = fc.oneof(
      fc.constantFrom<unknown>(
        null,
        true,
        false,
        0,
        -0,
        2 ** 60,
        Number.NaN,
        Number.NEGATIVE_INFINITY,
        undefined,
        "",
        "\ud800",
        "a\0b",
        '"',
      ),
      fc.double(),
      fc.string({ unit: "grapheme" }),
    )
    const value = fc.oneof(scalar, fc.array(scalar, { maxLength: 2 }), fc.dictionary(fc.constantFrom("k", "l"), scalar, { maxKeys: 2 }))
    const record = fc.record({ id, v: value, w: value, x: value, until: value, other: value }, { requiredKeys: ["id"] })
    fc.assert(
      fc.property(record, fc.boolean(), (doc, isWhole) => {
        const document = { ...doc, organization_id: "acme" }
        const cells: (string | number | Uint8Array | null)[] = []
        read(document, cells)
        const stored = storedText(shape, document, "acme")
        expect(JSON.parse(stored)).to.not.have.any.keys("id", "organization_id")
        if (typeof doc.v === "boolean" || (typeof doc.v === "string" && /^\w+$/.test(doc.v)))
          expect(JSON.parse(stored)).to.not.have.property("v")
        // Earlier versions stored the whole document.
        const storedIds = row.get(isWhole ? JSON.stringify(document) : stored, idKey(doc.id), ...cells) as unknown as (string | null)[]
        expect(JSON.parse(wholeText(shape, "acme", storedIds))).to.deep.equal(JSON.parse(JSON.stringify(document)))
      }),
      { numRuns: 3_000 },
    )
  })

  it("marks documents that have several values at a path, or text that SQL would order otherwise", () => {
    const read = keyReader(columnsOf(notes))
    const multiOf = (doc: object) => {
      const cells: unknown[] = []
      read(doc, cells)
      return cells[0]
    }
    for (const doc of [{ slug: ["a"] }, { values: [{ a: 1 }] }, { values: { a: [] } }, { group: "a\ud800" }, { slug: "a\0b" }])
      expect(multiOf(doc)).to.equal(1)
    for (const doc of [{}, { slug: "a" }, { other: [1] }, { values: { b: [1] } }]) expect(multiOf(doc)).to.equal(null)
  })
})
