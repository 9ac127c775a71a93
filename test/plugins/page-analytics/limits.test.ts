// Limits of a query, as reported to the caller: its time, its memory, its process and its place in the queue.
import { readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { expect } from "chai"
import { until } from "../../waiting.ts"
import { AnalyticsHost } from "./host.ts"

const endless = "SELECT count(*) FROM range(1000000000000)"

interface Refusal {
  readonly code: string
  readonly details?: { readonly reason: string }
}

const asker = (service: AnalyticsHost) => async (query: string) => {
  const { status, body } = await service.api<Refusal>("POST", "/v1/page-analytics/query", { query })
  return [status, body.code, body.details?.reason].join(" ")
}

describe("page analytics: limits of queries", () => {
  let service: AnalyticsHost
  before(async () => {
    service = await AnalyticsHost.start({ memory_mb: 128, threads: 1 })
  })
  after(() => service.stop())

  /** Returns the query processes of this process, with their processor time in ticks. */
  const processes = () =>
    readdirSync("/proc")
      .filter((pid) => /^\d+$/.test(pid))
      .flatMap((pid) => {
        try {
          if (!readFileSync(`/proc/${pid}/cmdline`, "utf8").includes("page-analytics")) return []
          const [, parent, ...rest] = readFileSync(`/proc/${pid}/stat`, "utf8")
            .replace(/^.*\) /, "")
            .split(" ")
            .map(Number)
          return parent === process.pid ? [{ pid: Number(pid), ticks: rest[9] ?? 0 }] : []
        } catch {
          return []
        }
      })

  it("end at their deadline, and are refused where they find no place in the line", async () => {
    const narrow = await AnalyticsHost.start({ deadline_ms: 100, threads: 1, ready_processes: 1, concurrency: 1, max_waiting: 1 })
    try {
      // Enough queries to exceed the queue, although on a busy machine later queries may find free places.
      const answers = await Promise.all(Array(8).fill(endless).map(asker(narrow)))
      const late = "504 deadline_exceeded query_timeout"
      expect(new Set(answers)).to.deep.equal(new Set(["429 resource_exhausted too_many_queries", late]))
      expect(answers.filter((answer) => answer === late)).to.have.length.above(1)
    } finally {
      await narrow.stop()
    }
  })

  it("are refused as unavailable where no process can be started, without a word of the machine", async () => {
    const node = process.execPath
    try {
      process.execPath = join(service.host.dataDir, "nothing")
      const { status, body } = await service.api("POST", "/v1/page-analytics/query", { query: "SELECT 1" })
      expect([status, body["code"], body["details"]]).to.deep.equal([503, "unavailable", { reason: "query_process_unavailable" }])
      expect(JSON.stringify(body)).to.not.include(service.host.dataDir)
      process.execPath = node
      expect(await service.rows("SELECT 1")).to.deep.equal([[1]])
    } finally {
      process.execPath = node
    }
  })

  it("end at the memory that they may have", async () => {
    expect(await asker(service)("SELECT array_agg(range) FROM range(50000000)")).to.equal("400 invalid_argument query_memory")
  })

  it("are told that their process crashed, and the next has another", async () => {
    expect(await service.rows("SELECT 1")).to.deep.equal([[1]])
    const before = new Map(processes().map(({ pid, ticks }) => [pid, ticks]))
    const pending = asker(service)(endless)
    await until("a process to be busy", () => processes().find(({ pid, ticks }) => ticks > (before.get(pid) ?? ticks) + 9))
    for (const pid of before.keys()) process.kill(pid, "SIGKILL")
    expect(await pending).to.equal("400 invalid_argument query_crashed")
    expect(await service.rows("SELECT 1")).to.deep.equal([[1]])
  })
})
