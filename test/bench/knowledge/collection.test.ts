// The ranking measure, on a collection small enough to verify by hand.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import { ndcg, rankCollection } from "./collection.ts"

const lines = (all: readonly object[]) => all.map((item) => JSON.stringify(item)).join("\n")

describe("the ranking of knowledge on a test collection", () => {
  const folder = mkdtempSync(join(tmpdir(), "millrace-collection-"))
  after(() => rmSync(folder, { recursive: true, force: true }))

  it("counts gains by their grades and their places", () => {
    const grades = new Map([
      ["a", 2],
      ["b", 1],
    ])
    expect(ndcg([2, 1], grades)).to.equal(1)
    expect(ndcg([1, 2], grades)).to.be.closeTo((1 + 3 / Math.log2(3)) / (3 + 1 / Math.log2(3)), 1e-12)
    expect(ndcg([], grades)).to.equal(0)
  })

  it("reads the format of BEIR, and ranks with and without what is done to words", async () => {
    const corpus = [
      { _id: "one", title: "Herons", text: "Herons are birds of the shore." },
      { _id: "two", title: "", text: "A library lends books." },
      { _id: "three", title: "", text: "Ships leave the harbour." },
    ]
    const queries = [
      { _id: "q1", text: "heron" },
      { _id: "q2", text: "books" },
      { _id: "q3", text: "nobody judged this" },
      { _id: "three", text: "Ships leave the harbour, and herons the shore." },
    ]
    mkdirSync(join(folder, "qrels"))
    writeFileSync(join(folder, "corpus.jsonl"), lines(corpus))
    writeFileSync(join(folder, "queries.jsonl"), lines(queries))
    writeFileSync(join(folder, "qrels/test.tsv"), "query-id\tcorpus-id\tscore\nq1\tone\t1\nq2\ttwo\t1\nthree\tone\t1\n")
    expect(await rankCollection(folder)).to.deep.equal({ ours: 1, plain: 2 / 3, queries: 3, documents: 3 })
  })
})
