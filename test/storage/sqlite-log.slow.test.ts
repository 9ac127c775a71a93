// The write-ahead log of the embedded driver under a continuous load of 168 MB of documents.
import { statSync } from "node:fs"
import { expect } from "chai"
import { defineCollection } from "../../core/contract/collection.ts"
import type { Note } from "./contract.ts"
import { type OpenedFile, openFile } from "./opened.ts"

const texts = defineCollection<Note>()({ name: "texts", scope: "global", times: [], indexes: [] })

describe("storage: sqlite log", () => {
  let opened: OpenedFile
  before(async () => {
    opened = await openFile([texts])
  })
  after(() => opened.close())

  it("carries its log over while it is being written, and begins it again before it is long", async () => {
    const text = "x".repeat(7_000)
    const insert = (id: string) => {
      const doc: Note = { id, text }
      return opened.store.commit({ id, writes: [{ kind: "insert", collection: texts, doc }] })
    }
    let carried = 0
    for (let group = 0; group < 400; group++) {
      await Promise.all(Array.from({ length: 60 }, (_, index) => insert(`${group}-${index}`)))
      // Without checkpoints, the first 64 MB would be only in the log.
      if (group === 120) carried = statSync(opened.file).size
    }
    expect(carried).to.be.greaterThan(8 << 20)
    expect(statSync(`${opened.file}-wal`).size).to.be.lessThan(120 << 20)
  })
})
