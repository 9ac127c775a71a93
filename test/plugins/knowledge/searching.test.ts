// Internal parts of a search: positions of words, and segments replaced during a read.
import { expect } from "chai"
import fc from "fast-check"
import type { Collection, Document, Store } from "#core"
import { IndexCollection, type PartCollection } from "../../../plugins/data/knowledge/collections.ts"
import { Segment } from "../../../plugins/data/knowledge/indexing/segment.ts"
import { Segments } from "../../../plugins/data/knowledge/indexing/segments.ts"
import { placesOf, words } from "../../../plugins/data/knowledge/indexing/tokens.ts"
import { highlights } from "../../../plugins/data/knowledge/searching/highlight.ts"
import { seed } from "../../tier.ts"

const pieces = [
  "Library's",
  "libraries",
  "Öffnungszeiten",
  "STRASSE",
  "Straße",
  "東京都庁舎",
  "ทุกวัน",
  "e\u0301te\u0301s",
  "ﬁsh",
  "K",
  "o’clock",
  "_x1",
  "'",
  "ｶﾞｽ",
  "a".repeat(70),
]
const text = fc
  .array(fc.oneof(fc.constantFrom(...pieces), fc.string({ unit: "grapheme" }), fc.string()), { maxLength: 12 })
  .chain((all) => fc.constantFrom(" ", "").map((between) => all.join(between)))

describe("what a search of knowledge is made of", () => {
  it("finds the words asked for where the index has them, and no other", () => {
    fc.assert(
      fc.property(text, fc.infiniteStream(fc.boolean()), (input, chosen) => {
        const all = words(input)
        const requests = new Set(all.filter(() => chosen.next().value))
        const places = placesOf(input, requests)
        expect(places.map(({ word }) => word)).to.deep.equal(all.filter((word) => requests.has(word)))
        for (const { word, from, to } of places) if (/^[a-z]+$/.test(word)) expect(words(input.slice(from, to))).to.include(word)
      }),
      { seed, numRuns: 500 },
    )
  })

  it("highlights a piece with as many different words as any piece of that length", () => {
    const repeated = fc.tuple(text, fc.nat({ max: 40 })).map(([input, times]) => `${input} `.repeat(times))
    fc.assert(
      fc.property(repeated, fc.infiniteStream(fc.boolean()), (input, chosen) => {
        const requests = new Set(words(input).filter(() => chosen.next().value))
        const hits = placesOf(input, requests)
        const windows = hits.slice(0, 200).map(({ from }) => hits.filter((hit) => hit.from >= from && hit.to <= from + 240))
        const most = Math.max(0, ...windows.map((window) => new Set(window.map(({ word }) => word)).size))
        const ranges = highlights(input, requests)
        const best = Math.max(0, ...ranges.map((piece) => new Set(placesOf(piece.text, requests).map(({ word }) => word)).size))
        expect(best).to.be.at.least(most)
        expect(ranges.length > 0).to.equal(hits.length > 0)
      }),
      { seed, numRuns: 200 },
    )
  })

  it("reads the index again where a segment was replaced meanwhile, and fails where one is missing", async () => {
    const segment = Segment.make([
      { id: "00000000-0000-4000-8000-000000000001", entry: 1, category: "", type: "text", words: new Map([["heron", 1]]) },
    ])
    const bySegment = new Map([["new:0", { id: "new:0", base64: segment.stored().toString("base64") }]])
    const lists = [["gone", "gone too", "new"], ["new"]].map((ids, at) => ({
      id: "o",
      revision: at + 1,
      segments: ids.map((id) => ({ id, count: 1, parts: 1 })),
    }))
    let reads = 0
    const opened = (spec: { name: string }) => ({
      get: async (id: string) => (spec.name === IndexCollection.name ? lists[Math.min(reads++, lists.length - 1)] : bySegment.get(id)),
    })
    const store = { open: (spec: typeof PartCollection) => opened(spec) as unknown as Collection<Document> } as unknown as Store
    const segments = new Segments(store, 2 ** 20)
    expect([...(await segments.current("o")).keys()]).to.deep.equal(["new"])
    expect(reads).to.equal(2)
    bySegment.clear()
    const failed = await new Segments(store, 2 ** 20).current("o").catch((error: Error) => error.message)
    expect(failed).to.equal("A part of the segment new is not stored.")
  })
})
