// Cost of analytics compared with the bare engine. Queries: through the API, each in its own process, against unguarded DuckDB in
// this process with the same views on the same segments (goal: at most 1.5 times its time). Ingest: from the store's rows to
// sealed segments and a committed manifest, against DuckDB's Appender (goal: at least half of its speed). Runs alternate.
import { rmSync } from "node:fs"
import { type DuckDBConnection, DuckDBInstance } from "@duckdb/node-api"
import { UnitsOfWork } from "#core"
import { type TestHost, testHost } from "#core/testing"
import type { Row as DatasetRow } from "../../../plugins/data/datasets/index.ts"
import { CopiesCollection } from "../../../plugins/pages/page-analytics/collections.ts"
import { quoted, segmentColumns } from "../../../plugins/pages/page-analytics/event-columns.ts"
import { eventsView, views } from "../../../plugins/pages/page-analytics/views.ts"
import { benchFolder } from "../machine.ts"
import { type BenchOptions, isSelected } from "../options.ts"
import { type Row, rowOf } from "../table.ts"
import { AnalyticsFixture, seal } from "./sealed-events.ts"
import { rowAt } from "./synthetic-events.ts"

const questions: Readonly<Record<string, string>> = {
  "visitors by day":
    "SELECT date_trunc('day', occurred_at) AS day, count(DISTINCT session_id) AS visitors FROM events WHERE event = 'pageview' AND NOT is_test GROUP BY day ORDER BY day",
  "conversion by variant":
    "SELECT variant, count(DISTINCT session_id) FILTER (event = 'pageview') AS visitors, count(DISTINCT session_id) FILTER (event = 'lead') AS leads, leads / visitors AS rate FROM events WHERE NOT is_test GROUP BY variant ORDER BY variant",
  "by source":
    "SELECT utm_source, count(DISTINCT session_id) AS visitors, count_if(event = 'lead') AS leads FROM events WHERE NOT is_test GROUP BY utm_source ORDER BY visitors DESC",
  "by device and in-app":
    "SELECT device_type, in_app, count(DISTINCT session_id) AS visitors, count_if(event = 'lead') AS leads FROM events WHERE NOT is_test GROUP BY ALL ORDER BY visitors DESC",
  "web vitals p75 by page":
    "SELECT artifact_id, name, quantile_cont(value, 0.75) AS p75, count(*) AS samples FROM web_vitals GROUP BY ALL ORDER BY artifact_id, name",
  "scroll depth":
    "SELECT scroll_depth, count(DISTINCT session_id) AS sessions FROM events WHERE event = 'scroll_milestone' AND NOT is_test GROUP BY scroll_depth ORDER BY scroll_depth",
  funnel: "SELECT step, sum(sessions) AS sessions FROM funnel GROUP BY step, position ORDER BY position",
  "form abandonment":
    "SELECT last_field, count(*) AS sessions, avg(field_count) AS fields FROM events WHERE event = 'form_abandon' AND NOT is_test GROUP BY last_field ORDER BY sessions DESC",
  "time to lead": "SELECT quantile_cont(time_to_lead_s, [0.5, 0.9]) AS seconds, count(*) AS leads FROM leads",
  "top pages": "SELECT artifact_id, page_url, visitors, leads, conversion_rate FROM pages ORDER BY visitors DESC LIMIT 20",
}

const queryName = (question: string) => `pages/query/${question.replaceAll(" ", "-")}`
const allQueries = queryName("all ten")
const ingestName = "pages/ingest"

export async function* analyticsRows(options: BenchOptions): AsyncGenerator<Row> {
  const requests = Object.entries(questions).filter(([name]) => isSelected(options, queryName(name)) || isSelected(options, allQueries))
  if (requests.length === 0 && !isSelected(options, ingestName)) return
  const { note, events, runs = 3 } = options
  note(`pages: ${events} events`)
  const dataDir = benchFolder()
  // One process per query; only this file seals.
  const settings = { "page-analytics": { idle_ms: 0, deadline_ms: 120_000, memory_mb: 4_096 } }
  const host = await testHost({ dataDir, env: { MILLRACE_LOG_LEVEL: "warn", MILLRACE_PLUGINS_SETTINGS: JSON.stringify(settings) } })
  const fixture = await AnalyticsFixture.make(host, dataDir)
  try {
    if (isSelected(options, ingestName)) yield await ingest(fixture, Math.min(events, 300_000), runs)
    if (requests.length > 0) {
      for await (const row of queries(fixture, events, runs, requests)) if (isSelected(options, row.name)) yield row
    }
  } finally {
    await fixture.engine.stop()
    await host.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

/** Rows have the density of ten million per month. */
const asMany = 10_000_000

async function ingest(fixture: AnalyticsFixture, count: number, runs: number): Promise<Row> {
  const rows = Array.from({ length: count }, (_, index) => rowAt(index, asMany, fixture.dataset.id))
  const figures = { ours: [] as number[], peer: [] as number[] }
  await seal(fixture, (index) => rows[index] as DatasetRow, Math.min(count, 1_000), asMany)
  await drop(fixture)
  for (let run = 0; run < runs; run++) {
    figures.peer.push(await timed(count, () => append(rows)))
    figures.ours.push(await timed(count, () => seal(fixture, (index) => rows[index] as DatasetRow, count, asMany)))
    const rowCount = (await fixture.copies().segments(await fixture.live())).reduce((sum, segment) => sum + segment.rows, 0)
    if (rowCount !== count) throw new Error(`${ingestName}: the run is void: ${rowCount} of ${count} rows were sealed`)
    await drop(fixture)
  }
  return rowOf(ingestName, "rows/s", figures.ours, "Appender", figures.peer, "goal 0.5 at least")
}

async function timed(count: number, work: () => Promise<void>): Promise<number> {
  const began = performance.now()
  await work()
  return (count * 1_000) / (performance.now() - began)
}

/** Appends the same rows and columns to a table in memory, value by value. */
async function append(rows: readonly DatasetRow[]): Promise<void> {
  const instance = await DuckDBInstance.create(":memory:")
  const connection = await instance.connect()
  await connection.run(
    `CREATE TABLE events (${segmentColumns.map(({ name, type }) => `${quoted(name)} ${type === "TIMESTAMP" || type === "JSON" ? "VARCHAR" : type}`).join(", ")})`,
  )
  const appender = await connection.createAppender("events")
  for (const row of rows) {
    const own: Record<string, unknown> = { row_id: row.id, received_at: row.created_at, updated_at: row.updated_at }
    for (const { name, type } of segmentColumns) {
      const value = own[name] ?? row.values[name]
      if (value === undefined || value === null) appender.appendNull()
      else if (type === "DOUBLE") appender.appendDouble(value as number)
      else if (type === "BIGINT") appender.appendBigInt(BigInt(value as number))
      else if (type === "BOOLEAN") appender.appendBoolean(value as boolean)
      else appender.appendVarchar(value as string)
    }
    appender.endRow()
  }
  appender.closeSync()
  connection.closeSync()
  instance.closeSync()
}

async function drop(fixture: AnalyticsFixture): Promise<void> {
  const live = await fixture.live()
  const copies = fixture.copies()
  await copies.change(live, { add: [], replace: await copies.segments(live), set: {} })
  await copies.sweep(Number.MAX_SAFE_INTEGER / 2 ** 10)
  await fixture.host.get(UnitsOfWork).run((work) => work.in(CopiesCollection, fixture.host.organization.id).remove(live.id))
}

/** Each run starts on an idle machine: the service has already started the process for the next query. */
const pauseMs = 1_500

type Question = readonly [name: string, sql: string]

async function* queries(fixture: AnalyticsFixture, count: number, runs: number, questions: readonly Question[]): AsyncGenerator<Row> {
  await seal(fixture, (index) => rowAt(index, count, fixture.dataset.id), count)
  const copies = fixture.copies()
  const sealer = fixture.sealer(copies, (index) => rowAt(index, count, fixture.dataset.id), count)
  while (await sealer.compact(await fixture.live())) {
    // Merges completely, like a copy older than a minute.
  }
  const segments = await copies.segments(await fixture.live())
  const instance = await DuckDBInstance.create(":memory:", { threads: "2" })
  const connection = await instance.connect()
  await connection.run(`SET TimeZone = 'UTC'; ${eventsView(await fixture.files.local(fixture.host.organization.id, segments), false)}`)
  for (const view of views) await connection.run(`CREATE VIEW ${view.name} AS ${view.sql}`)
  const sums = { ours: Array.from({ length: runs }, () => 0), peer: Array.from({ length: runs }, () => 0) }
  for (const [name, sql] of questions) {
    const figures = { ours: [] as number[], peer: [] as number[] }
    await bare(connection, sql)
    for (let run = 0; run < runs; run++) {
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
      const peer = await bare(connection, sql)
      const ours = await runQuery(fixture.host, sql)
      if (ours.rows !== peer.rows) throw new Error(`${name}: the run is void: ${ours.rows} rows here, ${peer.rows} there`)
      figures.ours.push(ours.ms)
      figures.peer.push(peer.ms)
      sums.ours[run] = (sums.ours[run] ?? 0) + ours.ms
      sums.peer[run] = (sums.peer[run] ?? 0) + peer.ms
    }
    yield rowOf(queryName(name), "ms", figures.ours, "bare DuckDB", figures.peer, `${count} events, ${segments.length} segments`)
  }
  yield rowOf(allQueries, "ms", sums.ours, "bare DuckDB", sums.peer, "goal 1.5 at most")
  connection.closeSync()
  instance.closeSync()
}

async function bare(connection: DuckDBConnection, sql: string): Promise<{ ms: number; rows: number }> {
  const began = performance.now()
  const rows = (await connection.runAndReadAll(sql)).getRowsJson().length
  return { ms: performance.now() - began, rows }
}

async function runQuery(host: TestHost, sql: string): Promise<{ ms: number; rows: number }> {
  const began = performance.now()
  const { body, status } = await host.api<{ rows: unknown[][]; message?: string }>("POST", "/v1/page-analytics/query", { query: sql })
  if (status !== 200) throw new Error(`${sql}: ${body.message}`)
  return { ms: performance.now() - began, rows: body.rows.length }
}
