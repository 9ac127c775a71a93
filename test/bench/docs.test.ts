// The tables of the page on performance equal the bench's results.
import { readFileSync } from "node:fs"
import { expect } from "chai"
import { type Figures, figuresWith, pageFile, readFigures, withFigures } from "./docs.ts"
import type { Machine } from "./machine.ts"

const row = {
  name: "inbound/full/c64",
  ours: 1234.5,
  peer: 1200,
  peer_name: "a | b",
  ratio: 1.029,
  unit: "events/s",
  ours_range: [1200, 1300],
  note: "n",
} as const

describe("docs/performance.md", () => {
  it("holds the figures of docs/performance.json and no others", () => {
    const page = readFileSync(pageFile, "utf8")
    expect(withFigures(page, readFigures())).to.equal(page)
    // Outside of generated blocks, no figure has a unit of time or rate.
    const typed = page.replaceAll(/<!-- figures \S+ -->[\s\S]*?<!-- end -->/g, "")
    expect(typed).to.not.match(/\d(?:\.\d+)? ?(?:µs|events\/s)\b/)
  })

  it("is made of rows by the start of their names, and says where there are none", () => {
    const figures = [{ measured_at: "2026-01-01", machine: {}, rows: [row], profile: ["hot"] }] as unknown as Figures[]
    const page = ["inbound/full/", "live/", "profile"].map((name) => `<!-- figures ${name} -->\nold\n<!-- end -->\n`).join("")
    const updated = withFigures(page, figures)
    expect(updated).to.include("| inbound/full/c64 | 1234.5 | 1200–1300 | 1200 (a \\| b) |  | 1.03 | events/s | n |")
    expect(updated).to.include("<!-- figures live/ -->\n\nNot measured yet.\n\n<!-- end -->")
    expect(updated).to.include("```text\nhot\n```")
    expect(updated).to.not.include("old")
    expect(withFigures(updated, figures)).to.equal(updated)
  })

  it("keeps what another machine measured and this one did not, and says on which each table was made", () => {
    const machine = (processor: string) => ({ processor, cores: 2 }) as Machine
    const other = { ...row, name: "live/fan-out", ours: 7 }
    const first = figuresWith([], machine("slow"), { rows: [row, other], profile: ["cold"] }, "2026-01-01")
    const both = figuresWith(first, machine("fast"), { rows: [{ ...row, ours: 9999 }] }, "2026-01-02")
    const page = ["machine", "inbound/", "live/", "profile"].map((name) => `<!-- figures ${name} -->\n<!-- end -->\n`).join("")
    const updated = withFigures(page, both)
    expect(updated).to.match(/- \*\*A\*\*, last measured on 2026-01-02: fast, .*\n- \*\*B\*\*, last measured on 2026-01-01: slow, /)
    expect(updated).to.match(/On A:\n\n\| row .*\n.*\n\| inbound\/full\/c64 \| 9999 /)
    expect(updated).to.not.include("1234.5")
    expect(updated).to.match(/On B:\n\n\| row .*\n.*\n\| live\/fan-out /)
    expect(updated).to.match(/On B:\n\n```text\ncold\n```/)
    // After all rows are measured on the new machine, the other machine is removed.
    expect(figuresWith(both, machine("fast"), { rows: [other], profile: ["hot"] }, "2026-01-03")).to.have.length(1)
  })
})
