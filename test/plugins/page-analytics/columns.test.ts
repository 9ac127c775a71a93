// The copy's typed columns equal those of page events, and rows become lines without loss.
import { expect } from "chai"
import type { Segment } from "../../../plugins/pages/page-analytics/collections.ts"
import { rowColumns } from "../../../plugins/pages/page-analytics/event-columns.ts"
import { toFinish, toMerge } from "../../../plugins/pages/page-analytics/sealing/compaction.ts"
import { lineOf } from "../../../plugins/pages/page-analytics/sealing/row-lines.ts"
import { pageEventColumns } from "../../../plugins/pages/page-events/columns.ts"

describe("columns of page analytics", () => {
  it("are those of page events, each of the type that holds it", () => {
    const fits = { string: ["VARCHAR"], number: ["DOUBLE", "BIGINT"], boolean: ["BOOLEAN"], "date-time": ["TIMESTAMP"] }
    expect(rowColumns.map(({ name }) => name)).to.have.members(pageEventColumns.map(({ name }) => name))
    for (const { name, type } of pageEventColumns) {
      expect(fits[type], name).to.include(rowColumns.find((column) => column.name === name)?.type)
    }
  })

  it("keep what has no column of its own as properties, and never mix a value of that name into the copy's own", () => {
    const row = { id: "r", dataset_id: "d", created_at: "2026-01-01T00:00:00.000Z", updated_at: "2026-01-01T00:00:00.000Z" }
    const line = JSON.parse(
      lineOf({ ...row, values: { event: "lead", row_id: "forged", received_at: "forged", properties: "forged", x: null } }),
    )
    expect(line).to.deep.equal({
      row_id: "r",
      received_at: row.created_at,
      updated_at: row.updated_at,
      event: "lead",
      properties: JSON.stringify({ row_id: "forged", received_at: "forged", properties: "forged" }),
    })
  })
})

describe("merging segments", () => {
  const segment = (id: string, rows: number, day = "2026-01-01"): Segment => ({
    id,
    rows,
    day,
    copy_id: "c",
    key: id,
    bytes: rows,
    schema: 1,
    first_at: id,
    last_at: id,
    sealed_at: id,
    replaced_at: null,
  })
  const eight = (rows: number, day?: string) => Array.from({ length: 8 }, (_, n) => segment(`${day ?? ""}${n}`, rows, day))

  it("takes eight of one day and size, in their order", () => {
    expect(toMerge(eight(10).reverse(), 100_000)?.map(({ id }) => id)).to.deep.equal(["0", "1", "2", "3", "4", "5", "6", "7"])
  })

  it("leaves few, unequal, full and different days' segments alone", () => {
    expect(toMerge(eight(10).slice(1), 100_000)).to.equal(undefined)
    expect(toMerge([...eight(10).slice(4), ...eight(60_000).slice(4)], 1_000_000)).to.equal(undefined)
    expect(toMerge(eight(60_000), 100_000)).to.equal(undefined)
    expect(toMerge([...eight(10).slice(4), ...eight(10, "2026-01-02").slice(4)], 100_000)).to.equal(undefined)
  })

  it("makes none larger than full, where two fit at all", () => {
    const merged = toMerge(eight(30_000), 100_000) ?? []
    expect(merged.reduce((sum, { rows }) => sum + rows, 0)).to.be.within(60_000, 100_000)
  })

  it("finishes a day that is over, for any sizes", () => {
    expect(toFinish([segment("a", 10), segment("b", 40_000)], 100_000, "2026-01-02")).to.have.length(2)
    expect(toFinish([segment("a", 10), segment("b", 40_000)], 100_000, "2026-01-01")).to.equal(undefined)
    expect(toFinish([segment("a", 10)], 100_000, "2026-01-02")).to.equal(undefined)
  })
})
