// Queries: the form of answers, messages of refusals, and permissions.

import { expect } from "chai"
import { type AppError, CacheInvalidation, UnitsOfWork } from "#core"
import { Authenticator, requireOrganization } from "#core/engine"
import { figuresOf, questionsOf } from "../../../plugins/pages/page-analytics/console/questions.ts"
import { PageAnalytics } from "../../../plugins/pages/page-analytics/index.ts"
import { ApiKeys, Organizations, organizationsTopic } from "../../../plugins/platform/organizations/index.ts"
import { collectionNamed } from "../collection-named.ts"
import { AnalyticsHost, event } from "./host.ts"

describe("page analytics query", () => {
  let service: AnalyticsHost
  let empty: AnalyticsHost
  before(async () => {
    service = await AnalyticsHost.start({ max_result_bytes: 1_000_000, max_rows: 1_000 })
    const at = (second: number) => new Date(Date.UTC(2026, 10, 20, 10, 0, second)).toISOString()
    await service.write([
      event("pageview", { session_id: "s1", utm_source: "ads", at: at(0) }),
      event("scroll_milestone", { session_id: "s1", scroll_depth: 50, at: at(5) }),
      event("cta_click", { session_id: "s1", at: at(10) }),
      event("form_start", { session_id: "s1", at: at(20) }),
      event("lead", { session_id: "s1", at: at(42) }),
      event("pageview", { session_id: "s2", variant: "b", at: at(1) }),
      event("scroll_bail", { session_id: "s2", variant: "b", max_scroll_depth: 10, duration_ms: 900, at: at(2) }),
      event("web_vital", { session_id: "s2", variant: "b", vital_name: "LCP", vital_value: 1234.5, vital_rating: "good", at: at(2) }),
      event("pageview", { session_id: "s3", is_test: true, at: at(3) }),
    ])
    await service.caughtUp()
    empty = await service.another()
  })
  after(() => service.stop())

  it("answers columns, types and rows in parallel, as the specification shapes them", async () => {
    const { body } = await service.host.api("POST", "/v1/page-analytics/query", {
      query: "SELECT event, count(*) AS n FROM events GROUP BY ALL ORDER BY n DESC, event LIMIT 2",
    })
    expect(Object.keys(body)).to.have.members(["columns", "types", "rows", "truncated", "enabled", "as_of", "snapshot"])
    expect(body).to.deep.include({
      columns: ["event", "n"],
      types: ["VARCHAR", "BIGINT"],
      rows: [
        ["pageview", 3],
        ["cta_click", 1],
      ],
      truncated: false,
    })
  })

  it("takes no table of another schema or catalog, be it one of these by another name", async () => {
    for (const table of ["main.events", "memory.main.events", "information_schema.tables", "temp.events"]) {
      const { code, message } = await service.query(`SELECT count(*) FROM ${table}`)
      expect([code, message], table).to.deep.equal([
        "invalid_argument",
        `The table "${table.split(".").at(-1)}" may not be qualified; there is one schema.`,
      ])
    }
  })

  it("has sessions, leads, pages, web_vitals and funnel, without test traffic", async () => {
    expect(
      await service.rows(
        "SELECT session_id, utm_source, pageviews, max_scroll, converted, bailed, duration_s FROM sessions ORDER BY session_id",
      ),
    ).to.deep.equal([
      ["s1", "ads", 1, 50, true, false, 42],
      ["s2", null, 1, 0, false, true, 1],
    ])
    expect(await service.rows("SELECT session_id, time_to_lead_s, session_started_at FROM leads")).to.deep.equal([
      ["s1", 42, "2026-11-20T10:00:00.000Z"],
    ])
    expect(await service.rows("SELECT page_url, pageviews, visitors, leads, conversion_rate FROM pages")).to.deep.equal([
      ["https://acme.test/offer", 2, 2, 1, 0.5],
    ])
    expect(await service.rows("SELECT name, value, rating FROM web_vitals")).to.deep.equal([["LCP", 1234.5, "good"]])
    expect(await service.rows("SELECT step, sessions FROM funnel WHERE variant = 'a' ORDER BY position")).to.deep.equal([
      ["viewed", 1],
      ["scrolled_half", 1],
      ["clicked", 1],
      ["started_form", 1],
      ["became_lead", 1],
    ])
  })

  it("counts sessions without a page view apart", async () => {
    const other = await service.another()
    const page = { page_url: "https://acme.test/apart", artifact_id: "apart", is_test: false }
    const eventOf = (event: string, session_id: string, variant = "a") => ({
      event_id: `${session_id}-${event}`,
      event,
      session_id,
      variant,
      ...page,
    })
    await other.write([
      ...["seen", "won"].map((session) => eventOf("pageview", session)),
      ...["won", "unseen"].map((session) => eventOf("lead", session)),
      eventOf("cta_click", "won"),
      eventOf("cta_click", "unseen"),
      eventOf("form_start", "half-seen", "b"),
    ])
    await other.caughtUp()
    const rows = (sql: string) => other.rows(sql)
    expect(await rows("SELECT session_id, viewed, converted FROM sessions ORDER BY session_id")).to.deep.equal([
      ["half-seen", false, false],
      ["seen", true, false],
      ["unseen", false, true],
      ["won", true, true],
    ])
    expect(await rows("SELECT pageviews, visitors, leads, unviewed_leads, conversion_rate FROM pages")).to.deep.equal([[2, 2, 1, 1, 0.5]])
    expect(await rows("SELECT session_id, viewed FROM leads ORDER BY session_id")).to.deep.equal([
      ["unseen", false],
      ["won", true],
    ])
    expect(await rows("SELECT variant, step, sessions, unviewed_sessions FROM funnel ORDER BY variant, position")).to.deep.equal([
      ["a", "viewed", 2, 0],
      ["a", "scrolled_half", 0, 0],
      ["a", "clicked", 1, 1],
      ["a", "started_form", 0, 0],
      ["a", "became_lead", 1, 1],
      ["b", "viewed", 0, 0],
      ["b", "scrolled_half", 0, 0],
      ["b", "clicked", 0, 0],
      ["b", "started_form", 0, 1],
      ["b", "became_lead", 0, 0],
    ])
    const now = Date.now()
    const queryNamed = (title: string) => questionsOf(30, "apart", now).find((question) => question.title === title)?.sql ?? ""
    expect((await rows(figuresOf(30, "apart", now)))[0]?.slice(0, 4)).to.deep.equal([2, 1, 0.5, 1])
    expect((await rows(queryNamed("Visitors a day"))).map(([, ...counts]) => counts)).to.deep.equal([[2, 1, 1]])
    expect(await rows(queryNamed("Conversion by variant"))).to.deep.equal([["a", 0.5]])
    expect(await rows(queryNamed("Where visitors come from"))).to.deep.equal([["direct", 2, 1]])
    expect((await rows(queryNamed("Funnel"))).at(-1)).to.deep.equal(["became_lead", 1, 1])
  })

  it("documents every column that the tables have, and only those, one by one with its type", async () => {
    const { body } = await service.host.api<{ tables: { name: string; columns: { name: string; type: string }[] }[] }>(
      "GET",
      "/v1/page-analytics/schema",
    )
    const names = body.tables.map(({ name }) => name)
    expect(names).to.deep.equal(["events", "sessions", "leads", "pages", "web_vitals", "funnel"])
    const documented = body.tables.flatMap(({ columns }) => columns.map(({ name, type }) => [name, type]))
    for (const where of [service, empty]) {
      const there = await where.query(`SELECT * FROM ${names.join(", ")} LIMIT 0`)
      expect(there.columns.map((column, index) => [column, there.types[index]])).to.deep.equal(documented)
    }
  })

  it("gives what JSON cannot hold in its documented form", async () => {
    const forms: [sql: string, type: string, form: unknown][] = [
      ["9007199254740991::BIGINT", "BIGINT", 9_007_199_254_740_991],
      ["9007199254740993::BIGINT", "BIGINT", "9007199254740993"],
      ["170141183460469231731687303715884105727::HUGEINT", "HUGEINT", "170141183460469231731687303715884105727"],
      ["-12.50::DECIMAL(10,2)", "DECIMAL(10,2)", -12.5],
      ["12345678901234567890.12::DECIMAL(38,2)", "DECIMAL(38,2)", "12345678901234567890.12"],
      ["'NaN'::DOUBLE", "DOUBLE", "NaN"],
      ["'-inf'::DOUBLE", "DOUBLE", "-Infinity"],
      ["DATE '2026-11-20'", "DATE", "2026-11-20"],
      ["DATE 'infinity'", "DATE", "infinity"],
      ["DATE '-infinity'", "DATE", "-infinity"],
      ["TIMESTAMP '2026-11-20 10:00:00.123456'", "TIMESTAMP", "2026-11-20T10:00:00.123456Z"],
      ["TIMESTAMP '1969-12-31 23:59:59.9'", "TIMESTAMP", "1969-12-31T23:59:59.900Z"],
      ["TIMESTAMPTZ '2026-11-20 10:00:00+02'", "TIMESTAMP WITH TIME ZONE", "2026-11-20T08:00:00.000Z"],
      ["'infinity'::TIMESTAMP", "TIMESTAMP", "infinity"],
      ["'-infinity'::TIMESTAMPTZ", "TIMESTAMP WITH TIME ZONE", "-infinity"],
      ["'infinity'::TIMESTAMP_S", "TIMESTAMP_S", "infinity"],
      ["'-infinity'::TIMESTAMP_MS", "TIMESTAMP_MS", "-infinity"],
      ["'infinity'::TIMESTAMP_NS", "TIMESTAMP_NS", "infinity"],
      ["TIME '10:00:00.5'", "TIME", "10:00:00.5"],
      ["INTERVAL '1 month 2 days 3.5 seconds'", "INTERVAL", "P1M2DT3.5S"],
      ["INTERVAL 0 DAY", "INTERVAL", "PT0S"],
      ["'\\xAA\\x00'::BLOB", "BLOB", "qgA="],
      ["'0101'::BIT", "BIT", "0101"],
      ["[1, NULL, 3]", "INTEGER[]", [1, null, 3]],
      ["{'a': 1, 'b': {'c': [DATE '2026-01-01']}}", 'STRUCT("a" INTEGER, "b" STRUCT("c" DATE[]))', { a: 1, b: { c: ["2026-01-01"] } }],
      [
        "{'__proto__': 1, 'a': {'__proto__': [2]}}",
        'STRUCT("__proto__" INTEGER, "a" STRUCT("__proto__" INTEGER[]))',
        JSON.parse('{"__proto__": 1, "a": {"__proto__": [2]}}'),
      ],
      [
        "MAP {'a': 1, 'b': 9007199254740993}",
        "MAP(VARCHAR, BIGINT)",
        [
          ["a", 1],
          ["b", "9007199254740993"],
        ],
      ],
      ["'0190f0c0-0000-7000-8000-000000000001'::UUID", "UUID", "0190f0c0-0000-7000-8000-000000000001"],
      ["NULL", "INTEGER", null],
    ]
    const { types, rows, message } = await service.query(`SELECT ${forms.map(([sql], index) => `${sql} AS value_${index}`).join(", ")}`)
    expect([message, rows?.length]).to.deep.equal([undefined, 1])
    expect(forms.map(([sql], index) => [sql, types[index], rows[0]?.[index]])).to.deep.equal(forms)
  })

  it("cuts at the most rows and says so, and not at exactly as many", async () => {
    const cut = await service.query("SELECT n FROM range(1001) AS t(n)")
    expect([cut.rows.length, cut.truncated]).to.deep.equal([1_000, true])
    const whole = await service.query("SELECT n FROM range(1000) AS t(n)")
    expect([whole.rows.length, whole.truncated]).to.deep.equal([1_000, false])
  })

  it("cuts rows that are too large together", async () => {
    const answer = await service.query("SELECT string_agg(md5(n::VARCHAR), '') FROM range(60000) AS t(n) GROUP BY n // 6000")
    expect(answer.truncated).to.equal(true)
    expect(answer.rows.length).to.be.within(1, 9)
  })

  it("refuses in the engine's own words, as invalid_argument", async () => {
    for (const [sql, words] of [
      ["SELEC 1", 'syntax error at or near "SELEC"'],
      ["SELECT colour FROM events", 'Referenced column "colour" not found'],
      ["SELECT sum(event) FROM events", "No function matches"],
      ["SELECT 1 / 'a'", "Conversion Error"],
      ["", "query"],
    ]) {
      const answer = await service.query(sql ?? "")
      expect(answer.code).to.equal("invalid_argument")
      expect(answer.message).to.contain(words)
    }
  })

  it("says how to write a column that has the name of a reserved word, and of nothing else", async () => {
    for (const sql of ["SELECT at FROM events", "SELECT event, at, variant FROM events", "SELECT event FROM events ORDER BY at DESC"]) {
      const { message } = await service.query(sql)
      expect(message, sql).to.include("syntax error").and.to.include('write "at" in quotes, or occurred_at')
    }
    for (const sql of [
      "SELECT \"at\" 'at' FROM FROM events",
      "SELECT \"at\" AT TIME ZONE 'UTC' FROM FROM events",
      "SELECT format FROM FROM events",
    ]) {
      expect((await service.query(sql)).message, sql)
        .to.include("syntax error")
        .and.not.include("reserved")
    }
    const { rows, types } = await service.query("SELECT \"at\", occurred_at FROM events WHERE session_id = 's1' AND event = 'lead'")
    expect([types, rows]).to.deep.equal([["TIMESTAMP", "TIMESTAMP"], [["2026-11-20T10:00:42.000Z", "2026-11-20T10:00:42.000Z"]]])
  })

  it("says what to do instead where the engine would have had no objection", async () => {
    expect((await service.query("SELECT $1")).message).to.contain("write the value in the query")
    expect((await service.query("DESCRIBE events")).message).to.contain("/v1/page-analytics/schema")
    expect((await service.query("SELECT * FROM clicks")).message).to.contain("events, sessions, leads, pages, web_vitals, funnel")
    expect((await service.query("SELECT getenv('HOME')")).message).to.contain('"getenv" is not allowed')
  })

  it("lets marketers' SQL through: windows, WITH, pivots, lists, dates and JSON", async () => {
    for (const sql of [
      "WITH daily AS (SELECT date_trunc('day', occurred_at) AS day, count(*) AS n FROM events GROUP BY 1) SELECT day, n, lag(n) OVER (ORDER BY day) FROM daily",
      "SELECT * FROM (PIVOT (SELECT event, variant FROM events) ON variant IN ('a', 'b') USING count(*))",
      "SELECT variant, quantile_cont(vital_value, 0.75) FILTER (vital_name = 'LCP') FROM events GROUP BY variant HAVING count(*) > 0 QUALIFY row_number() OVER () = 1",
      "SELECT list_transform(string_split(page_url, '/'), lambda x: upper(x)) FROM events",
      "SELECT \"at\", extract('hour' FROM \"at\"), strftime(\"at\", '%d.%m.') , \"at\" AT TIME ZONE 'UTC' AT TIME ZONE 'Europe/Berlin' FROM events",
      "SELECT properties->>'a', json_extract_string(properties, '$.b') FROM events",
      "SELECT event, count(*) FROM events WHERE page_url ILIKE '%offer%' AND country IN ('DE', 'AT') GROUP BY ROLLUP (event)",
      "SELECT * EXCLUDE (city) REPLACE (upper(event) AS event) FROM events USING SAMPLE 2",
      "SELECT a.session_id FROM events a ASOF JOIN events b ON a.session_id = b.session_id AND a.occurred_at >= b.occurred_at",
      "WITH RECURSIVE days(d) AS (SELECT DATE '2026-11-01' UNION ALL SELECT (d + INTERVAL 1 DAY)::DATE FROM days WHERE d < DATE '2026-11-05') SELECT d, current_date >= d FROM days",
      "FROM events SELECT count(*)",
    ]) {
      const answer = await service.query(sql)
      expect(answer.message, sql).to.equal(undefined)
    }
  })

  it("allows only functions that the engine has, and none of its pragmas", async () => {
    const { DuckDBInstance } = await import("@duckdb/node-api")
    const { allowedFunctions } = await import("../../../plugins/pages/page-analytics/query/functions.ts")
    const connection = await (await DuckDBInstance.create(":memory:")).connect()
    const functions = await connection.runAndReadAll(
      "SELECT DISTINCT function_name FROM duckdb_functions() WHERE function_type IN ('scalar', 'aggregate', 'macro')",
    )
    const names = new Set(functions.getRows().map(([name]) => name))
    // Forms of the grammar, and table functions allowed in SELECT.
    const grammar = [
      "coalesce",
      "if",
      "ifnull",
      "nullif",
      "grouping",
      "unnest",
      "try",
      "position",
      "current_timestamp",
      "rank_dense",
      "count_star",
      "->",
    ]
    expect([...allowedFunctions].filter((name) => !names.has(name) && !grammar.includes(name))).to.deep.equal([])
  })

  it("never sees another organization's events, in no table", async () => {
    const other = await service.another()
    await other.write([event("lead", { session_id: "other" })])
    await other.caughtUp()
    expect(await other.rows("SELECT session_id FROM events")).to.deep.equal([["other"]])
    for (const table of ["events", "sessions", "leads"]) {
      expect((await service.rows(`SELECT session_id FROM ${table}`)).flat()).not.to.include("other")
    }
  })

  it("answers an organization without events with no rows, not enabled", async () => {
    const answer = await empty.query("SELECT * FROM sessions")
    expect(answer).to.deep.include({ rows: [], enabled: false, as_of: null, truncated: false })
    expect((answer as { note?: string }).note).to.include("no page collects events")
  })

  it("answers a manager key in its own organization, as any service key of its role", async () => {
    const mint = (manager: boolean) =>
      service.host
        .get(UnitsOfWork)
        .run((work) =>
          service.host
            .get(ApiKeys)
            .mint(work, service.organization.id, { name: "service", kind: "api_key", role: "member", scopes: null, manager, user: null }),
        )
    for (const manager of [true, false]) {
      const { text } = await mint(manager)
      const answer = await service.host.api("POST", "/v1/page-analytics/query", { query: "SELECT 1" }, { key: text })
      expect(answer.status, JSON.stringify(answer.body)).to.equal(200)
    }
  })

  it("says of a statement that is not a query what one is, and what the engine says", async () => {
    for (const query of ["DELETE FROM events", "EXPLAIN SELECT 1", "COPY events TO 'x.csv'"]) {
      const { status, body } = await service.api<{ message: string; details: { reason: string } }>("POST", "/v1/page-analytics/query", {
        query,
      })
      expect([status, body.details.reason]).to.deep.equal([400, "query_rejected"])
      expect(body.message, query).to.match(/A query is one SELECT .*Message of the engine: Only SELECT statements/)
    }
  })

  it("asks again, at each call, whether the key's maker is a member", async () => {
    const { host } = service
    const organizations = host.get(Organizations)
    const works = host.get(UnitsOfWork)
    const organization = host.organization.id
    const user = await works.run((work) => organizations.addUser(work, { email: "member@acme.test" }))
    await works.run((work) => organizations.addMember(work, organization, user.id, "member"))
    const { text } = await works.run((work) =>
      host.get(ApiKeys).mint(work, organization, { name: "member's", kind: "api_key", role: "member", scopes: null, user: user.id }),
    )
    const ask = () => host.api("POST", "/v1/page-analytics/query", { query: "SELECT 1" }, { key: text })
    expect((await ask()).status).to.equal(200)
    // Authenticated before the change: later changes also count.
    const credentials = { bearer: text, organization: undefined, surface: "rest", requestId: "r", log: host.runtime.log } as const
    const caller = requireOrganization(await host.get(Authenticator).authenticate(credentials), "a query")
    const analytics = host.get(PageAnalytics)
    const signal = new AbortController().signal
    expect((await analytics.query(caller, { query: "SELECT 1" }, signal)).rows).to.deep.equal([[1]])

    await works.run((work) => organizations.addMember(work, organization, user.id, "guest"))
    expect(await refusalOf(analytics.query(caller, { query: "SELECT 1" }, signal))).to.equal("permission_denied not_a_member")
    expect((await ask()).status).to.equal(403)

    const membership = await organizations.membership(organization, user.id)
    await works.run((work) => {
      work.in(collectionNamed(host, "memberships"), organization).remove(membership?.id ?? "")
      host.get(CacheInvalidation).announce(work, organizationsTopic, organization, { settled: true })
    })
    expect(await refusalOf(analytics.query(caller, { query: "SELECT 1" }, signal))).to.equal("permission_denied not_a_member")
    expect((await ask()).status).to.equal(401)
  })

  it("lets a scoped token ask only with page_analytics:read", async () => {
    const { host } = service
    const mint = (scopes: string[]) =>
      host
        .get(UnitsOfWork)
        .run((work) => host.get(ApiKeys).mint(work, host.organization.id, { name: "t", kind: "token", role: "member", scopes, user: null }))
    const ask = async (scopes: string[]) =>
      (await host.api("POST", "/v1/page-analytics/query", { query: "SELECT 1" }, { key: (await mint(scopes)).text })).status
    expect([await ask(["page_analytics:read"]), await ask(["datasets:read"])]).to.deep.equal([200, 403])
  })
})

function refusalOf(request: Promise<unknown>): Promise<string> {
  return request.then(
    () => "answered",
    (error: AppError) => `${error.code} ${error.details.reason}`,
  )
}
