// The store at a size suitable for CI: correct books, bounded memory, answered pages. `npm run bench -- --rows N` judges its
// speed.
import { expect } from "chai"
import { printTable, type Row } from "../table.ts"
import { sizeRows } from "./at-size.ts"

const rows = 200_000

describe("the store at size", function () {
  // Events arrive as fast as they are accepted. Other work on the machine slows this down.
  this.timeout(900_000)

  it(`takes ${rows} events into bounded memory and answers pages of them`, async () => {
    const matches: Row[] = []
    // Throws if the numbers of rows, entries and answers differ.
    for await (const row of sizeRows({ rows, seconds: 2, runs: 1, warmSeconds: 2, note: () => undefined })) matches.push(row)
    printTable(matches)
    const byName = new Map(matches.map((row) => [row.name, row]))
    const memory = byName.get("storage/size/memory")
    expect(memory?.ours_range[1], "megabytes").to.be.within(1, 1_100)
    // Memory may vary, but must not grow with the number of events.
    expect(memory?.ratio).to.be.below(1.25)
    const pages = matches.filter(({ name }) => name.startsWith("storage/size/page/"))
    expect(pages.map(({ name }) => name.split("/").at(-1))).to.include.members([
      "rows",
      "rows-by-key",
      "executions",
      "executions-from-the-middle",
    ])
    // With the default bound; row-scans.test.ts covers other bounds.
    const refused = byName.get("storage/size/unindexed-refused")
    for (const row of [...pages, refused]) expect(row?.ratio, `${row?.name}, of what is allowed`).to.be.within(0, 1)
    expect(byName.get("storage/size/throughput")?.ratio, "of an empty store's").to.be.above(0.75)
  })
})
