// Live evidence of an experiment with a million visitors over HTTP, with six guardrails and several events each. Compared with
// the bare engine on the same segments and queries. Goal: at most two seconds.
import { rmSync } from "node:fs"
import { join } from "node:path"
import { DuckDBInstance } from "@duckdb/node-api"
import { Clock, Ids, Store, timestamp, UnitsOfWork } from "#core"
import { type TestHost, testHost } from "#core/testing"
import { Buckets } from "../../../plugins/data/buckets/index.ts"
import { type Dataset, type Row as DatasetRow, Datasets } from "../../../plugins/data/datasets/index.ts"
import { ExperimentResource } from "../../../plugins/pages/experiments/experiment.ts"
import { countsSql } from "../../../plugins/pages/experiments/live/counting-query.ts"
import { CopyStore } from "../../../plugins/pages/page-analytics/sealing/copy-store.ts"
import { Sealer } from "../../../plugins/pages/page-analytics/sealing/sealer.ts"
import { SegmentEngine } from "../../../plugins/pages/page-analytics/sealing/segment-engine.ts"
import { SegmentFiles } from "../../../plugins/pages/page-analytics/segments/segment-files.ts"
import { eventsView } from "../../../plugins/pages/page-analytics/views.ts"
import { benchFolder } from "../machine.ts"
import type { BenchOptions } from "../options.ts"
import { type Row, rowOf } from "../table.ts"

const visitors = 1_000_000
/** A view, three vitals, and a further action of every other visitor. */
const eventsEach = 5
const days = 28
const dayMs = 86_400_000
const metrics = ["lcp_ms", "inp_ms", "cls", "rage_clicks", "scroll_bails", "form_abandons"]

export async function countingRow({ note, runs = 3 }: BenchOptions): Promise<Row> {
  note(`experiments/live/count: ${visitors} visitors, ${visitors * eventsEach} events`)
  const dataDir = benchFolder()
  const settings = { "page-analytics": { deadline_ms: 120_000, memory_mb: 2_048, seal_every_ms: 5_000, check_every_ms: 86_400_000 } }
  const host = await testHost({ dataDir, env: { MILLRACE_LOG_LEVEL: "warn", MILLRACE_PLUGINS_SETTINGS: JSON.stringify(settings) } })
  const engine = new SegmentEngine()
  try {
    const { page, slug, from } = await experimentOn(host)
    const files = new SegmentFiles({ buckets: host.get(Buckets), ids: host.get(Ids), folder: join(dataDir, "bench"), cacheBytes: 0 })
    await files.start()
    const copies = new CopyStore(
      { store: host.get(Store), works: host.get(UnitsOfWork), clock: host.get(Clock), files },
      host.organization.id,
    )
    await seal(host, copies, { files, engine }, page, from)
    const path = `/v1/experiments/${slug}/live`
    const ours: number[] = []
    for (let run = 0; run <= runs; run++) {
      const began = performance.now()
      const { status, body } = await host.api<{ visitors: number; message?: string }>("GET", path)
      if (status !== 200 || body.visitors < visitors * 0.99) throw new Error(`${path}: ${status} ${body.message ?? body.visitors}`)
      // The first query starts its process.
      if (run > 0) ours.push(performance.now() - began)
    }
    const { live } = await copies.copies()
    const segments = live ? await copies.segments(live) : []
    const bare = await bareMs(await files.local(host.organization.id, segments), { page, from }, runs)
    const detail = `${visitors} visitors, ${visitors * eventsEach} events, ${segments.length} segments; goal 2,000 at most`
    return rowOf("experiments/live/count", "ms", ours, "bare DuckDB", bare, detail)
  } finally {
    await engine.stop()
    await host.stop()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

/** Started four weeks ago. */
async function experimentOn(host: TestHost): Promise<{ page: string; slug: string; from: number }> {
  const variants = ["a", "b"].map((key) => ({ key, html: `<h1>${key}</h1>` }))
  const page = (await host.api<{ id: string; slug: string }>("POST", "/v1/pages", { title: "Bench", variants })).body
  await host.api("POST", `/v1/pages/${page.slug}/publish`)
  const guardrails = metrics.map((metric) => ({ metric, max_increase_percent: 10 }))
  const response = await host.api<{ id: string; slug: string }>("POST", "/v1/experiments", { name: "Bench", page: page.slug, guardrails })
  await host.api("POST", `/v1/experiments/${response.body.slug}/start`)
  const from = host.get(Clock).now() - days * dayMs - 60_000
  await host
    .get(UnitsOfWork)
    .run((work) =>
      work.in(ExperimentResource.collection, host.organization.id).update(response.body.id, { $set: { started_at: timestamp(from) } }),
    )
  return { page: page.id, slug: response.body.slug, from }
}

async function seal(
  host: TestHost,
  copies: CopyStore,
  { files, engine }: { files: SegmentFiles; engine: SegmentEngine },
  page: string,
  from: number,
): Promise<void> {
  const dataset = (await host.get(Datasets).get(host.organization.id, "page-events")) as Dataset
  const count = visitors * eventsEach
  const stream = async function* ({ created_at }: { created_at?: { $gte?: string } }) {
    const startedAt = ((Date.parse(created_at?.$gte ?? "") || from) - from) / (days * dayMs)
    for (let index = Math.max(0, Math.floor(startedAt * count)); index < count; index++) yield rowAt(index, page, dataset.id, from)
  }
  const datasets = { rows: () => ({ stream }) } as unknown as Datasets
  const sealer = new Sealer(
    { datasets, clock: host.get(Clock), ids: host.get(Ids), files, engine, segmentRows: 400_000, keepDays: 3_650 },
    copies,
  )
  if (!(await copies.copies()).live) await copies.first()
  for (;;) {
    const { live } = await copies.copies()
    if (!live) throw new Error("There is no copy.")
    const step = await sealer.advance(live, dataset, [])
    if (step.caughtUp) break
  }
  // Merges completely, like a copy older than a minute.
  for (;;) {
    const { live } = await copies.copies()
    if (!live || !(await sealer.compact(live))) return
  }
}

function rowAt(index: number, page: string, datasetId: string, from: number): DatasetRow {
  const visitor = Math.floor(index / eventsEach)
  const at = new Date(from + Math.floor((index / (visitors * eventsEach)) * days * dayMs)).toISOString()
  const hex = index.toString(16).padStart(12, "0")
  return {
    id: `0190f0c0-0000-8000-8000-${hex}`,
    dataset_id: datasetId,
    created_at: at,
    updated_at: at,
    values: {
      event_id: `bench-${hex}`,
      artifact_id: page,
      page_url: "https://acme.test/p",
      variant: Math.imul(visitor, 0x9e3779b1) < 0 ? "a" : "b",
      session_id: `0190f0c0-1111-8000-8000-${visitor.toString(16).padStart(12, "0")}`,
      at,
      is_test: false,
      device_type: "mobile",
      browser: "chrome",
      in_app: "",
      ...kindOf(index % eventsEach, visitor),
    },
  }
}

function kindOf(place: number, visitor: number) {
  const vital = ["", "LCP", "INP", "CLS"][place]
  if (place === 0) return { event: "pageview" }
  if (vital !== undefined) {
    const spread = (visitor * 7_919) % 1_000
    return { event: "web_vital", vital_name: vital, vital_value: vital === "CLS" ? spread / 5_000 : 500 + spread, vital_rating: "good" }
  }
  return { event: visitor % 20 === 0 ? "lead" : visitor % 10 === 1 ? "rage_click" : visitor % 4 === 1 ? "scroll_bail" : "scroll_milestone" }
}

async function bareMs(files: readonly string[], { page, from }: { page: string; from: number }, runs: number): Promise<number[]> {
  const instance = await DuckDBInstance.create(":memory:", { threads: "2" })
  const connection = await instance.connect()
  await connection.run(`SET TimeZone = 'UTC'; ${eventsView(files, false)}`)
  const sql = countsSql({
    pageId: page,
    variants: ["a", "b"],
    goal: { kind: "lead" },
    converted: [],
    from,
    until: from + days * dayMs + 60_000,
    windowDays: days,
    segments: [from],
    metrics: new Set(metrics),
  })
  const took: number[] = []
  for (let run = 0; run < runs; run++) {
    const began = performance.now()
    await connection.runAndReadAll(sql)
    took.push(performance.now() - began)
  }
  connection.closeSync()
  instance.closeSync()
  return took
}
