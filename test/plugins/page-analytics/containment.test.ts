// Protection behind the list of functions: the engine's own lock, the process's limits, and one organization per process.
import { spawn } from "node:child_process"
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { getCompileCacheDir } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DuckDBInstance } from "@duckdb/node-api"
import { expect } from "chai"
import { lockDown, startSettings } from "../../../plugins/pages/page-analytics/query/engine-limits.ts"
import { QueryPool } from "../../../plugins/pages/page-analytics/query/query-pool.ts"
import { QueryProcess } from "../../../plugins/pages/page-analytics/query/query-process.ts"
import { outputUntil } from "../../processes.ts"
import { runningMs } from "../../slowness.ts"
import { expectWithin } from "../../tier.ts"
import { until } from "../../waiting.ts"

const codeCache = join(getCompileCacheDir() ?? tmpdir(), "analytics-queries")
const limits = { threads: 1, memoryMb: 128, deadlineMs: 60_000, codeCache }
const task = { files: [], mixed: false, limits: { rows: 10, bytes: 10_000 } }
const onLinux = process.platform === "linux" ? it : it.skip
const never = new AbortController().signal

describe("containment of analytics queries", () => {
  let folder: string
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "millrace-analytics-"))
  })
  after(() => rmSync(folder, { recursive: true, force: true }))

  it("locks the engine to the files it was given, by itself", async () => {
    writeFileSync(join(folder, "secret.txt"), "secret")
    const own = join(folder, "own.parquet")
    const instance = await DuckDBInstance.create(":memory:", startSettings(1, 128))
    const connection = await instance.connect()
    await connection.run(`COPY (SELECT 1 AS n) TO '${own}'`)
    await connection.run(`COPY (SELECT 2 AS n) TO '${join(folder, "other.parquet")}'`)
    await lockDown(connection, [own])
    expect((await connection.runAndReadAll(`SELECT n FROM read_parquet('${own}')`)).getRows()).to.deep.equal([[1]])
    for (const [sql, words] of [
      [`SELECT * FROM read_text('${folder}/secret.txt')`, /Permission Error/],
      [`SELECT * FROM read_parquet('${folder}/other.parquet')`, /Permission Error/],
      [`SELECT * FROM read_parquet('${folder}/own.parquet/../other.parquet')`, /Permission Error/],
      [`SELECT * FROM glob('${folder}/*')`, /Permission Error/],
      [`COPY (SELECT 1) TO '${folder}/made.csv'`, /Permission Error/],
      [`ATTACH '${folder}/made.duckdb'`, /Permission Error/],
      ["SET enable_external_access = true", /locked|Cannot/],
      ["SET allowed_paths = ['/']", /locked|Cannot/],
      ["SET memory_limit = '9GiB'", /locked/],
      ["INSTALL httpfs", /Permission Error|disabled/],
    ] as const) {
      const refused = await connection.runAndReadAll(sql).then(
        () => "it was let through",
        (error: Error) => error.message,
      )
      expect(refused, sql).to.match(words)
    }
    connection.closeSync()
    instance.closeSync()
  })

  it("gives the process nothing of the service's environment, and a limit on what it may write to; it keeps compiled code", async () => {
    process.env["MILLRACE_TEST_PLANTED"] = "planted"
    const own = join(folder, "code")
    const query = new QueryProcess({ ...limits, codeCache: own })
    await query.ready
    const filesIn = () => readdirSync(own, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
    await until("code for the next start", async () => filesIn().length > 0)
    if (process.platform === "linux") {
      const environment = readFileSync(`/proc/${query.pid}/environ`, "utf8")
      expect(environment).to.contain("TZ=UTC").and.not.to.contain("planted")
      const allowed = readFileSync(`/proc/${query.pid}/limits`, "utf8")
      expect(allowed).to.match(new RegExp(`^Max data size +${(limits.memoryMb + 1_024) * 2 ** 20} `, "m"))
      expect(allowed).to.match(/^Max core file size +0 /m)
    }
    await query.stop()
    delete process.env["MILLRACE_TEST_PLANTED"]
  })

  onLinux("ends a query with the service, at any point of its work", async () => {
    const from = new URL("../../../plugins/pages/page-analytics/query/query-process.ts", import.meta.url).href
    const service = spawn(process.execPath, [
      "--input-type=module",
      "--eval",
      `import { QueryProcess } from ${JSON.stringify(from)}
      const query = new QueryProcess(${JSON.stringify(limits)})
      await query.ready
      console.log("process " + query.pid + ".")
      await query.run(${JSON.stringify({ ...task, sql: "SELECT count(*) FROM range(10000000000) AS a, range(10000000) AS b" })})
      console.log("answered.")`,
    ])
    const pid = Number(/process (\d+)\./.exec(await outputUntil(service, /process \d+\./))?.[1])
    const began = processorTicks(pid)
    await until("the query to run", () => processorTicks(pid) > began + 5)
    service.kill("SIGKILL")
    await until("the query's process to end", () => !existsSync(`/proc/${pid}`))
  })

  it("kills a process at its deadline, and the next query has another", async () => {
    const own = { ...limits, concurrency: 1, maxWaiting: 4, idleMs: 60_000, ready: 1 }
    const pool = new QueryPool(own)
    pool.start()
    const pids = () => pool.processes().flatMap(({ pid, organization }) => (organization === "o" ? [pid] : []))
    const short = { ...task, sql: "SELECT 1" }
    expect((await pool.run("o", short, never)).kind).to.equal("table")
    const [first] = pids()
    own.deadlineMs = 200
    const endless = { ...task, sql: "SELECT count(*) FROM range(1000000000000)" }
    const took = await runningMs(async () => expect((await pool.run("o", endless, never)).kind).to.equal("deadline"))
    expectWithin(5_000, took, "the end of a query with a deadline of 0.2 s")
    own.deadlineMs = limits.deadlineMs
    expect((await pool.run("o", short, never)).kind).to.equal("table")
    expect(pids()).to.have.length(1).and.not.to.include(first)
    await pool.stop()
  })

  it("replaces a process whose engine ran out of memory, and one that ended before it took the next query", async () => {
    const pool = new QueryPool({ ...limits, concurrency: 1, maxWaiting: 4, idleMs: 60_000, ready: 0 })
    const kind = async (sql: string) => (await pool.run("o", { ...task, sql }, never)).kind
    const pids = () => pool.processes().map(({ pid }) => pid ?? 0)
    try {
      expect(await kind("SELECT 1")).to.equal("table")
      const [first] = pids()
      expect(await kind("SELECT n FROM range(300000000) AS t(n) ORDER BY hash(n)")).to.equal("memory")
      expect(pids()).to.deep.equal([])
      expect(await kind("SELECT 1")).to.equal("table")
      const [second] = pids()
      expect(second).to.be.greaterThan(0).and.not.equal(first)
      // While it opens an engine for the next query.
      process.kill(second ?? 0, "SIGKILL")
      expect(await kind("SELECT 1")).to.equal("table")
      expect(pids()).to.have.length(1).and.not.include(second)
    } finally {
      await pool.stop()
    }
  })

  it("does not count the start of a process towards a query's deadline", async () => {
    const own = { ...limits, deadlineMs: 20 }
    const query = new QueryProcess(own)
    try {
      process.kill(query.pid ?? 0, "SIGSTOP")
      const pending = query.run({ ...task, sql: "SELECT 1" })
      // Fires after an earlier timer of the same length.
      await new Promise((resolve) => setTimeout(resolve, own.deadlineMs))
      own.deadlineMs = limits.deadlineMs
      process.kill(query.pid ?? 0, "SIGCONT")
      expect((await pending).kind).to.equal("table")
    } finally {
      await query.stop()
    }
  })

  it("gives up a process that does not start, and does not blame the query for it", async () => {
    const query = new QueryProcess({ ...limits, startMs: 100 })
    process.kill(query.pid ?? 0, "SIGSTOP")
    expect(await query.run({ ...task, sql: "SELECT 1" })).to.deep.equal({ kind: "unstarted", message: "It took too long." })
    expect(query.alive).to.equal(false)
  })

  it("kills a process when the caller disconnects", async () => {
    const pool = new QueryPool({ ...limits, concurrency: 1, maxWaiting: 4, idleMs: 60_000, ready: 1 })
    const abortController = new AbortController()
    const pending = pool.run("o", { ...task, sql: "SELECT count(*) FROM range(1000000000000)" }, abortController.signal)
    abortController.abort()
    expect((await pending).kind).to.equal("crashed")
    await pool.stop()
  })

  it("never gives one organization's process to another, and keeps a spare", async () => {
    const pool = new QueryPool({ ...limits, concurrency: 4, maxWaiting: 4, idleMs: 60_000, ready: 1 })
    pool.start()
    const pids = new Map<number, string>()
    for (const organization of ["a", "b", "a", "c", "b", "a"]) {
      expect((await pool.run(organization, { ...task, sql: "SELECT 1" }, never)).kind).to.equal("table")
      for (const { pid, organization: owner } of pool.processes()) {
        if (owner === undefined || pid === undefined) continue
        expect(pids.get(pid) ?? owner).to.equal(owner)
        pids.set(pid, owner)
      }
    }
    expect([...pids.values()].sort()).to.deep.equal(["a", "b", "c"])
    expect(pool.processes().some(({ organization }) => organization === undefined)).to.equal(true)
    await pool.stop()
  })

  it("keeps as many processes ready as is set, and starts the next when the query is over, not beside it", async () => {
    const readyOnes = (pool: QueryPool) => pool.processes().filter(({ organization }) => organization === undefined)
    const pool = new QueryPool({ ...limits, concurrency: 2, maxWaiting: 4, idleMs: 0, ready: 2 })
    pool.start()
    expect(readyOnes(pool)).to.have.length(2)
    const [first] = readyOnes(pool)
    const running = pool.run("a", { ...task, sql: "SELECT count(*) FROM range(2000000) AS n(i) WHERE i % 7 = 3" }, never)
    await new Promise((resolve) => setTimeout(resolve, 0))
    expect(readyOnes(pool).map(({ pid }) => pid)).not.to.include(first?.pid)
    expect(readyOnes(pool)).to.have.length(1)
    expect((await running).kind).to.equal("table")
    expect(readyOnes(pool)).to.have.length(2)
    await pool.stop()

    const none = new QueryPool({ ...limits, concurrency: 1, maxWaiting: 4, idleMs: 0, ready: 0 })
    none.start()
    expect(none.processes()).to.deep.equal([])
    expect((await none.run("a", { ...task, sql: "SELECT 1" }, never)).kind).to.equal("table")
    expect(readyOnes(none)).to.deep.equal([])
    await none.stop()
  })

  it("leaves nothing of a query to the next one of the same process", async () => {
    const query = new QueryProcess(limits)
    expect((await query.run({ ...task, sql: "WITH t AS (SELECT 1 AS a) SELECT a FROM t" })).kind).to.equal("table")
    const after = await query.run({ ...task, sql: "SELECT a FROM t" })
    expect(after).to.deep.include({ kind: "refused" })
    await query.stop()
  })

  it("refuses queries of the organization that has most of them waiting, and no other's", async () => {
    const pool = new QueryPool({ ...limits, concurrency: 1, maxWaiting: 4, idleMs: 60_000, ready: 1 })
    const abortController = new AbortController()
    const refusals: string[] = []
    const ask = (organization: string, sql: string, signal: AbortSignal) =>
      pool.run(organization, { ...task, sql }, signal).then(
        ({ kind }) => kind,
        (error: { code?: string }) => {
          refusals.push(organization)
          return error.code
        },
      )
    const flood = Array.from({ length: 12 }, () => ask("busy", "SELECT count(*) FROM range(1000000000000)", abortController.signal))
    const quiet = [ask("quiet", "SELECT 1", never), ask("quiet", "SELECT 2", never)]
    expect(pool.shares().map(({ organization, waiting, running }) => [organization, waiting, running])).to.deep.include(["quiet", 2, 0])
    abortController.abort()
    expect(await Promise.all(quiet)).to.deep.equal(["table", "table"])
    await Promise.all(flood)
    expect(new Set(refusals)).to.deep.equal(new Set(["busy"]))
    await pool.stop()
  })

  it("refuses a query when too many wait, and serves those that wait in turn", async () => {
    const pool = new QueryPool({ ...limits, concurrency: 1, maxWaiting: 1, idleMs: 60_000, ready: 1 })
    const ask = (organization: string) => pool.run(organization, { ...task, sql: "SELECT 1" }, never)
    const first = ask("a")
    const second = ask("b")
    const refused = await ask("c").then(
      () => "answered",
      (error: { code: string }) => error.code,
    )
    expect(refused).to.equal("resource_exhausted")
    expect([(await first).kind, (await second).kind]).to.deep.equal(["table", "table"])
    await pool.stop()
  })
})

/** Returns the processor time of a process in the kernel's ticks of a hundredth of a second. */
function processorTicks(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1]?.split(" ") ?? []
  return Number(fields[11]) + Number(fields[12])
}
