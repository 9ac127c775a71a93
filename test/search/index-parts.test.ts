// Parts of a search index: the choice of segments to merge, numbers of every size, and identifiers in sixteen bytes.
import { expect } from "chai"
import { packUuids, parts, readPart, segmentsToMerge, uuidAt, uuidsIn, WordIndex, wordPostings } from "#core/search"

const sizes = (inputs: readonly number[], groupOf?: (size: number) => string) =>
  segmentsToMerge(inputs, (size) => size, { maxSize: 4_096, maxMerged: 20_000, ...(groupOf && { groupOf }) })

describe("segments to merge", () => {
  it("are eight of one size", () => {
    expect(sizes([1, 2, 3, 4, 5, 6, 7])).to.deep.equal([])
    expect(sizes([1, 9, 2, 3, 4, 5, 6, 7, 7, 64])).to.deep.equal([1, 2, 3, 4, 5, 6, 7, 7])
    expect(sizes(Array(9).fill(512))).to.have.length(8)
  })

  it("leave out large segments, and keep to the largest sum", () => {
    expect(sizes(Array(8).fill(4_096))).to.deep.equal([])
    expect(sizes(Array(8).fill(4_000))).to.have.length(5)
  })

  it("are of one group", () => {
    const groupOf = (size: number) => String(size % 2)
    expect(sizes([1, 2, 3, 4, 5, 6, 7, 1], groupOf)).to.deep.equal([])
    expect(sizes([1, 1, 1, 2, 1, 1, 1, 1, 1], groupOf)).to.deep.equal(Array(8).fill(1))
  })
})

describe("postings", () => {
  it("hold numbers of one byte to five", () => {
    const inputs = [0, 127, 128, 16_383, 16_384, 2 ** 28 - 1, 2 ** 28, 2 ** 31, 2 ** 32 - 1].map((token, at) => ({
      token,
      count: 2,
      ordinals: [at, 128 * at + 1_000],
    }))
    expect([...parts(inputs, 0)].flatMap(({ base64 }) => [...readPart(base64)])).to.deep.equal(inputs)
  })

  it("find words by halving, with the items of each", () => {
    const lists = new Map([
      ["zebra", [0, 1, 300, 200]],
      ["äpfel", [2, 70_000]],
      ["apple", [1, 1]],
    ])
    const index = new WordIndex(wordPostings(lists))
    for (const [word, list] of lists) {
      const matches: number[] = []
      index.each(index.wordAt(Buffer.from(word)), (at, frequency) => matches.push(at, frequency))
      expect(matches, word).to.deep.equal(list)
    }
    expect(index.wordAt(Buffer.from("pear"))).to.equal(-1)
    expect([...index.words()]).to.deep.equal(["apple", "zebra", "äpfel"])
  })
})

describe("packed UUIDs", () => {
  it("are read one by one and together", () => {
    const ids = ["01a2229f-a22b-77ea-87ea-7387c595a436", "ffffffff-ffff-ffff-ffff-ffffffffffff", "00000000-0000-0000-0000-000000000001"]
    const bytes = packUuids(ids)
    expect(bytes).to.have.length(48)
    expect(uuidsIn(bytes)).to.deep.equal(ids)
    expect(ids.map((_, at) => uuidAt(bytes, at))).to.deep.equal(ids)
    expect(uuidAt(bytes, 3)).to.equal(undefined)
  })
})
