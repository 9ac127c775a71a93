// Every hostile query does its harm where nothing guards the engine, and none here: it is refused, the machine is as
// before, and the next query is answered.
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

/** Whether it takes a process of its own to run it unguarded. */
export function takesProcess({ harm }: HostileQuery): boolean {
  return "grows" in harm || "hangs" in harm
}

export interface SuiteOptions {
  /** Those that are run unguarded first, to see that they do harm; without it none is. */
  readonly proves?: (query: HostileQuery, index: number) => boolean
}

/** One suite, with a service of its own, over some of the queries. */
export function hostileQuerySuite(title: string, queries: readonly HostileQuery[], { proves }: SuiteOptions = {}): void {
  describe(title, () => {
    let service: AnalyticsHost
    let fixture: CorpusFixture
    before(async () => {
      // Short only where queries run until it.
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
        // A query that was ended took its process along: the next one may be refused until there is another. Where the
        // deadline is short, a machine that stood still may be its fault.
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
      // An extension that is not there is an error, after it was asked for.
      await connection.runAndReadAll(fixture.fill(sql)).catch((error: unknown) => {
        if (!("calls" in harm)) throw error
      })
      expect("writes" in harm ? fixture.written : fixture.asked > 0).to.equal(true)
    }
  } finally {
    close()
  }
}

/** Whether it passes the bound before it ends, or is still running after a second and a half. */
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
