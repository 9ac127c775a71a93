// Checks that every hostile query does harm on an unguarded engine but not here. Here it is refused, the machine is unchanged,
// and the next query is answered.
import { type ChildProcess, fork } from "node:child_process"
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { expect } from "chai"
import { until } from "../../../waiting.ts"
import { AnalyticsHost, event } from "../host.ts"
import { CorpusFixture } from "./fixture.ts"
import { type HostileQuery, otherSecret, secret } from "./hostile-queries.ts"

const grownBytes = 600 * 2 ** 20

/** Returns true if the unguarded query needs a separate process. */
export function takesProcess({ harm }: HostileQuery): boolean {
  return "grows" in harm || "hangs" in harm
}

export interface SuiteOptions {
  /** Selects queries to run unguarded first, as proof of their harm. Default: no queries. */
  readonly proves?: (query: HostileQuery, index: number) => boolean
}

/** Defines one suite with its own service for some of the queries. */
export function hostileQuerySuite(title: string, queries: readonly HostileQuery[], { proves }: SuiteOptions = {}): void {
  describe(title, () => {
    let service: AnalyticsHost
    let fixture: CorpusFixture
    before(async () => {
      // A short deadline only if queries run until it.
      service = await AnalyticsHost.start({ deadline_ms: proves ? 1_200 : 60_000, memory_mb: 256, threads: 1 })
      const other = await service.another()
      await other.write([event("lead", { page_url: otherSecret })])
      await service.write([event("pageview")])
      await service.caughtUp()
      await other.caughtUp()
      fixture = new CorpusFixture(
        join(service.host.dataDir, "fixture"),
        segmentOf(service.host.organization.id),
        segmentOf(other.organization.id),
      )
      await fixture.start()
    })
    after(async () => {
      fixture?.stop()
      await service?.stop()
    })

    function segmentOf(organization: string): string {
      const folder = join(service.host.dataDir, "buckets", organization)
      const testFile = readdirSync(folder, { recursive: true })
        .map(String)
        .find((name) => name.endsWith(".parquet"))
      return join(folder, testFile ?? "none")
    }

    for (const [index, hostile] of queries.entries()) {
      const title = `${index + 1}: ${hostile.sql}`.slice(0, 150)
      const isProved = proves?.(hostile, index) === true
      it(`${isProved ? "does harm unguarded and none here" : "does no harm"}: ${title}`, async () => {
        fixture.clear()
        if (isProved) await showHarm(fixture, hostile)
        fixture.clear()
        const answer = await service.query(fixture.fill(hostile.sql))
        expect(answer.rows, "rows").to.equal(undefined)
        expect(answer.code).to.be.oneOf(["invalid_argument", "deadline_exceeded"])
        expect(answer.message).to.match(/\S/)
        expect(JSON.stringify(answer)).not.to.contain(secret).and.not.to.contain(otherSecret)
        expect(fixture.written, "something was written").to.equal(false)
        expect(fixture.asked, "something was asked for").to.equal(0)
        // An ended query also ended its process, so the next query may be refused until a new process is ready. With a short
        // deadline, a paused machine may also be the cause.
        const passing = ["unavailable", ...(proves ? ["deadline_exceeded"] : [])]
        const next = await until("an answer to the next query", async () => {
          const { rows, code, message } = await service.query("SELECT count(*) FROM events")
          return !passing.includes(code ?? "") && (rows ?? message)
        })
        expect(next).to.deep.equal([[1]])
      })
    }
  })
}

async function showHarm(fixture: CorpusFixture, { sql, harm }: HostileQuery): Promise<void> {
  if ("grows" in harm || "hangs" in harm) return watch(sql, "grows" in harm)
  const { connection, close } = await fixture.unguarded()
  const run = async (text: string) => JSON.stringify((await connection.runAndReadAll(text)).getRowsJson())
  try {
    if ("tells" in harm) {
      const problem = await run(fixture.fill(sql)).catch((error: Error) => error.message)
      expect(problem).to.contain(fixture.fill(harm.tells))
    } else if ("changes" in harm) {
      const before = await run(harm.changes)
      await connection.runAndReadAll(fixture.fill(sql))
      expect([before, await run(harm.changes)]).to.deep.equal(["[[false]]", "[[true]]"])
    } else {
      // A missing extension causes an error after the request for it.
      await connection.runAndReadAll(fixture.fill(sql)).catch((error: unknown) => {
        if (!("calls" in harm)) throw error
      })
      expect("writes" in harm ? fixture.written : fixture.asked > 0).to.equal(true)
    }
  } finally {
    close()
  }
}

/** Checks that a query exceeds the memory bound before its end, or runs longer than a second and a half. */
async function watch(sql: string, growing: boolean): Promise<void> {
  const child: ChildProcess = fork(fileURLToPath(new URL("./unguarded-main.ts", import.meta.url)), [sql], {
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  })
  try {
    const outcome = await new Promise<string>((resolve) => {
      const ends = growing ? undefined : setTimeout(() => resolve("hangs"), 1_500)
      child.on("message", ({ done, rss, most = 0 }: { done?: boolean; rss: number; most?: number }) => {
        if (growing && Math.max(rss, most) > grownBytes) resolve("grows")
        else if (done) resolve("ended")
        if (done) clearTimeout(ends)
      })
      child.once("exit", (code) => resolve(`exit ${code}`))
    })
    expect(outcome).to.equal(growing ? "grows" : "hangs")
  } finally {
    child.kill("SIGKILL")
  }
}
