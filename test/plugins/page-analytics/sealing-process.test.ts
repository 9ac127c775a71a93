// The sealing process: replaced before it grows too large, without a failed task.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect } from "chai"
import { SegmentEngine, type SegmentEngineOptions } from "../../../plugins/pages/page-analytics/sealing/segment-engine.ts"

describe("process that seals page events", () => {
  let folder: string
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "millrace-sealing-"))
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  /** Returns the ids of processes that each sealed one segment. */
  async function processesOf(options: SegmentEngineOptions, tasks: number): Promise<number[]> {
    const engine = new SegmentEngine(options)
    const counts: number[] = []
    try {
      for (let n = 0; n < tasks; n++) {
        const rows = join(folder, "rows")
        const at = "2026-01-01T00:00:00.000Z"
        writeFileSync(rows, JSON.stringify({ row_id: `r-${n}`, received_at: at, updated_at: at }))
        const task = engine.run<"write">({ kind: "write", rows, out: join(folder, `${n}.parquet`) })
        counts.push(engine.pid ?? 0)
        expect((await task).rows).to.equal(1)
      }
    } finally {
      await engine.stop()
    }
    return counts
  }

  it("is replaced after a number of tasks", async () => {
    const [first, second, third, fourth] = await processesOf({ maxTasks: 2 }, 4)
    expect([second, fourth]).to.deep.equal([first, third])
    expect(third).to.not.equal(first)
  })

  it("is replaced after a task that left it too large", async () => {
    expect(new Set(await processesOf({ maxIdleBytes: 1 }, 2)).size).to.equal(2)
    expect(new Set(await processesOf({}, 3)).size).to.equal(1)
  })
})
