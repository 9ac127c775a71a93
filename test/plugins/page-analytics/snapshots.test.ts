// Repeatable answers. The same query with an answer's snapshot returns the same rows, also after further sealing and merging.
// Otherwise a reason explains the refusal. Saved reports keep their snapshot.
import { expect } from "chai"
import { Store, UnitsOfWork } from "#core"
import { lendDatabaseToFile, mongoAvailable } from "../../mongodb-server.ts"
import { ShiftedClock } from "../../shifted-clock.ts"
import { isFast } from "../../tier.ts"
import { until } from "../../waiting.ts"
import { collectionNamed } from "../collection-named.ts"
import { AnalyticsHost, type Answer, event } from "./host.ts"

type Repeatable = Answer & { readonly snapshot: string; readonly details?: { readonly reason: string; readonly why?: string } }
interface Report {
  readonly slug: string
  readonly name: string
  readonly snapshot: string
  readonly as_of: string | null
}

const dayMs = 86_400_000
const sql = "SELECT event, count(*) AS n, count(DISTINCT session_id) AS s FROM events GROUP BY event ORDER BY event"

function repeatedAnswers(title: string, env: () => Promise<Record<string, string>>, isAvailable = true): void {
  const run = isAvailable ? describe : describe.skip
  run(title, () => {
    const clock = new ShiftedClock()
    let analytics: AnalyticsHost
    /** Its files have been merged since. */
    let first: Repeatable
    before(async () => {
      analytics = await AnalyticsHost.start({ keep_replaced_ms: 0, check_every_ms: 1_000, max_reports: 3 }, {}, { clock, env: await env() })
    })
    after(() => analytics.stop())

    const ask = async (query: string, snapshot?: string, host = analytics) =>
      (await host.api<Repeatable>("POST", "/v1/page-analytics/query", { query, ...(snapshot !== undefined && { snapshot }) })).body
    const segments = (filter: object) =>
      analytics.host
        .get(Store)
        .open(
          collectionNamed<{ day: string; replaced_for?: string; gone?: boolean }>(analytics.host, "page_analytics_segments"),
          analytics.organization.id,
        )
        .find(filter as never)
    /** In separate segments; eight are merged. */
    const sealMany = async () => {
      for (let attempt = 0; attempt < 9; attempt++) {
        await analytics.write([event("pageview", { session_id: `more-${attempt}` })])
        await analytics.caughtUp()
      }
      await until("a merge", async () => (await segments({ replaced_for: "merge" })).length > 0)
    }

    it("have the same rows after more events, merges and the end of replaced files", async () => {
      await analytics.write([event("pageview"), event("lead"), event("pageview", { session_id: "s2" })])
      await analytics.caughtUp()
      first = await ask(sql)
      expect(first.rows).to.deep.equal([
        ["lead", 1, 1],
        ["pageview", 2, 2],
      ])
      expect(first.snapshot).to.match(/^[0-9a-f]{32}$/)
      await sealMany()
      const retained = await until("what is kept for the snapshot", async () => {
        const matches = await segments({ kept: true })
        return matches.length > 0 ? matches : undefined
      })
      expect(retained.every(({ replaced_for, gone }) => replaced_for === "merge" && !gone)).to.equal(true)
      const again = await ask(sql, first.snapshot)
      expect([again.rows, again.as_of, again.snapshot]).to.deep.equal([first.rows, first.as_of, first.snapshot])
      const now = await ask(sql)
      expect(now.rows).to.deep.equal([
        ["lead", 1, 1],
        ["pageview", 11, 11],
      ])
      expect(now.snapshot).not.to.equal(first.snapshot)
    })

    it("have the clock of their rows, and are refused what answers otherwise each time", async () => {
      const then = await ask("SELECT now(), current_date, today(), current_timestamp")
      expect(then.rows[0]?.[0]).to.equal(then.as_of)
      clock.step(dayMs / 24)
      const clocks = await ask("SELECT now(), current_date, today(), current_timestamp", then.snapshot)
      expect(clocks.rows).to.deep.equal(then.rows)
      for (const query of [
        "SELECT random()",
        "SELECT uuid()",
        "SELECT age(TIMESTAMP '2020-01-01')",
        "SELECT event FROM events USING SAMPLE 1",
      ]) {
        const refused = await ask(query, then.snapshot)
        expect([refused.code, refused.details?.reason], query).to.deep.equal(["invalid_argument", "not_repeatable"])
        expect((await ask(query)).rows, query).to.be.an("array")
      }
      expect((await ask("SELECT age(TIMESTAMP '2020-01-02', TIMESTAMP '2020-01-01')", then.snapshot)).rows).to.have.length(1)
    })

    it("are saved with a name, run again and as of now, and shared by their slug", async () => {
      const saved = await analytics.api<Report>("POST", "/v1/page-analytics/reports", {
        name: "Events by kind",
        query: sql,
        snapshot: first.snapshot,
      })
      expect([saved.status, saved.body.slug, saved.body.snapshot]).to.deep.equal([200, "events-by-kind", first.snapshot])
      clock.step(8 * dayMs)
      // Replaced files are deleted at once here, so queries during the merge of a past day may miss them.
      await until("the merges of what is over", async () => {
        const live = await segments({ replaced_at: null })
        return live.length === new Set(live.map(({ day }) => day)).size
      })
      const path = "/v1/page-analytics/reports"
      const run = async (body: object) =>
        (await analytics.api<Repeatable & { report: Report }>("POST", `${path}/events-by-kind/run`, body)).body
      const again = await run({})
      expect([again.rows, again.as_of, again.snapshot]).to.deep.equal([first.rows, first.as_of, first.snapshot])
      expect((await run({ fresh: true })).rows).not.to.deep.equal(first.rows)
      expect((await analytics.api<Report>("GET", `${path}/events-by-kind`)).body.snapshot).to.equal(first.snapshot)
      expect((await analytics.api<{ reports: Report[] }>("GET", path)).body.reports.map(({ name }) => name)).to.deep.equal([
        "Events by kind",
      ])
      type Refused = { code: string; details: { reason: string } }
      const reasonOf = async (body: object) => (await analytics.api<Refused>("POST", path, body)).body.details.reason
      expect(await reasonOf({ name: "Events by kind", query: sql })).to.equal("slug_taken")
      expect(await reasonOf({ name: "Wrong", query: "DELETE FROM events" })).to.equal("query_rejected")
      for (const name of ["Second", "Third"]) expect((await analytics.api("POST", path, { name, query: "SELECT 1" })).status).to.equal(200)
      expect(await reasonOf({ name: "Fourth", query: "SELECT 1" })).to.equal("too_many_reports")
      expect((await analytics.api("DELETE", `${path}/events-by-kind`)).status).to.equal(200)
      expect((await analytics.api<Refused>("GET", `${path}/events-by-kind`)).body.details.reason).to.equal("report_not_found")
      expect((await ask(sql, first.snapshot)).details).to.deep.include({ reason: "snapshot_gone", why: "expired" })
    })

    it("say that they are unknown, and are not another organization's", async () => {
      const { snapshot } = await ask(sql)
      const other = await analytics.another()
      expect((await ask(sql, snapshot, other)).details).to.deep.include({ reason: "snapshot_gone", why: "expired" })
      const empty = await ask("SELECT count(*) FROM events", undefined, other)
      expect((await ask("SELECT count(*) FROM events", empty.snapshot, other)).rows).to.deep.equal([[0]])
      expect((await ask(sql, "f".repeat(32))).details).to.deep.include({ why: "expired" })
      expect((await ask(sql, "../../etc/passwd")).code).to.equal("invalid_argument")
    })

    it("say that events were deleted since, whose rows no kept file holds any more", async () => {
      const [row] = await analytics.write([event("pageview", { session_id: "person" }), event("click")])
      await analytics.caughtUp()
      const withPerson = "SELECT count(*) FROM events WHERE session_id = 'person'"
      const before = await ask(withPerson)
      expect(before.rows).to.deep.equal([[1]])
      await sealMany()
      expect((await ask(withPerson, before.snapshot)).rows).to.deep.equal([[1]])
      await analytics.api("DELETE", `/v1/datasets/page-events/rows/${row}`)
      await until("the row to be gone", async () => JSON.stringify((await ask(withPerson)).rows) === "[[0]]")
      expect((await ask(withPerson, before.snapshot)).details).to.deep.include({ reason: "snapshot_gone", why: "rows_changed" })
      await until("its files to be gone", async () => (await segments({ replaced_for: "rows" })).every(({ gone }) => gone === true))
    })

    it("keep no file once nothing asks for it", async () => {
      const store = analytics.host.get(Store)
      const { id } = analytics.organization
      clock.step(8 * dayMs)
      await analytics.host.get(UnitsOfWork).run(async (work) => {
        for await (const item of store.open(collectionNamed(analytics.host, "page_analytics_snapshots"), id).stream({}))
          work.in(collectionNamed(analytics.host, "page_analytics_snapshots"), id).remove(item.id)
      })
      for (const slug of ["second", "third"]) await analytics.api("DELETE", `/v1/page-analytics/reports/${slug}`)
      await until("nothing being kept", async () => (await segments({ kept: true })).length === 0)
    })
  })
}

repeatedAnswers("answers of analytics that are repeated", async () => ({}))
if (!isFast) {
  const storage = async () => ({ MILLRACE_STORAGE_URL: await lendDatabaseToFile() })
  repeatedAnswers("answers of analytics that are repeated (mongodb)", storage, mongoAvailable)
}
