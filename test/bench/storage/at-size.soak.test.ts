// The store at a size that CI has time for: books that are right, memory that is bounded, pages that are answered. How fast
// is judged by the bounds of `npm run bench -- --rows N`.
import { expect } from "chai"
import { printTable, type Row } from "../table.ts"
import { sizeRows } from "./at-size.ts"

const rows = 200_000

describe("the store at size", function () {
  // Events come in as fast as they are taken, and that is slow where other work goes on beside.
  this.timeout(900_000)

  it(`takes ${rows} events into bounded memory and answers pages of them`, async () => {
    const matches: Row[] = []
    // Throws where rows, entries and answers are not equally many.
    for await (const row of sizeRows({ rows, seconds: 2, runs: 1, warmSeconds: 2, note: () => undefined })) matches.push(row)
    printTable(matches)
    const byName = new Map(matches.map((row) => [row.name, row]))
    const memory = byName.get("storage/size/memory")
    expect(memory?.ours_range[1], "megabytes").to.be.within(1, 1_100)
    // It may waver, and must not follow the number of events.
    expect(memory?.ratio).to.be.below(1.25)
    const pages = matches.filter(({ name }) => name.startsWith("storage/size/page/"))
    expect(pages.map(({ name }) => name.split("/").at(-1))).to.include.members([
      "rows",
      "rows-by-key",
      "executions",
      "executions-from-the-middle",
    ])
    // With the default bound; see row-scans.test.ts for the rest.
    const refused = byName.get("storage/size/unindexed-refused")
    for (const row of [...pages, refused]) expect(row?.ratio, `${row?.name}, of what is allowed`).to.be.within(0, 1)
    expect(byName.get("storage/size/throughput")?.ratio, "of an empty store's").to.be.above(0.75)
  })
})
