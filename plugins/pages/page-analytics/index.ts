// Page analytics: a columnar copy of each organization's page events, and SQL over it in a restricted process.
// The dataset `page-events` remains the source of truth.
import { getCompileCacheDir } from "node:module"
import { join } from "node:path"
import { Clock, definePlugin, Ids, Leases, Log, Settings, Store, token, UnitsOfWork } from "#core"
import { Metrics, measureWaiting } from "#core/engine"
import { EventPipelines } from "../../capture/pipelines/index.ts"
import { Buckets } from "../../data/buckets/index.ts"
import { Datasets } from "../../data/datasets/index.ts"
import { Organizations } from "../../platform/organizations/index.ts"
import { Pages } from "../pages/index.ts"
import {
  CopiedOrganizations,
  CopiesCollection,
  NotesCollection,
  ReportsCollection,
  SealingCollection,
  SegmentsCollection,
  SnapshotsCollection,
} from "./collections.ts"
import { analyticsSchema, analyticsStatus, queryAnalytics, rebuildAnalytics } from "./operations.ts"
import { createPageAnalytics, PageAnalytics } from "./page-analytics.ts"
import { QueryPool } from "./query/query-pool.ts"
import { reasons } from "./reasons.ts"
import { deleteReport, getReport, listReports, runReport, saveReport } from "./reports.ts"
import { rowNotes } from "./sealing/overlap.ts"
import { eventsDataset, Passes } from "./sealing/passes.ts"
import { SegmentEngine } from "./sealing/segment-engine.ts"
import { SegmentFiles } from "./segments/segment-files.ts"
import { AnalyticsSettings, ReportLimit } from "./settings.ts"

export { PageAnalytics } from "./page-analytics.ts"

const Files = token<SegmentFiles>("analytics segment files")
const Engine = token<SegmentEngine>("analytics segment engine")
const Pool = token<QueryPool>("analytics query pool")

export default definePlugin({
  id: "page-analytics",
  reasons,
  needs: ["buckets", "datasets", "event-pipelines", "organizations", "pages"],
  config: AnalyticsSettings,
  register(reg, config) {
    const compiled = getCompileCacheDir()
    // Folder beside the service's own code cache. Processes with foreign queries have a separate folder.
    const codeCacheOf = (name: string) => (compiled === undefined ? {} : { codeCache: join(compiled, name) })
    /** Organizations with a copy, as last seen by this node. */
    const copied = new Set<string>()
    reg.collections(CopiedOrganizations, CopiesCollection, SealingCollection, NotesCollection, SegmentsCollection)
    reg.collections(SnapshotsCollection, ReportsCollection)
    reg.provide(ReportLimit, { create: () => config.max_reports })
    reg.operations(queryAnalytics, analyticsSchema, analyticsStatus, rebuildAnalytics)
    reg.operations(saveReport, listReports, getReport, runReport, deleteReport)
    reg.provide(Files, {
      inject: { settings: Settings, buckets: Buckets, ids: Ids },
      create: ({ settings, ...deps }) =>
        new SegmentFiles({ ...deps, folder: join(settings.data_dir, "page-analytics"), cacheBytes: config.cache_bytes }),
      start: (files) => files.start(),
    })
    reg.provide(Engine, { create: () => new SegmentEngine(codeCacheOf("analytics-sealing")), stop: (engine) => engine.stop() })
    reg.provide(Pool, {
      inject: { metrics: Metrics },
      create: ({ metrics }) => {
        const pool = new QueryPool({
          ...codeCacheOf("analytics-queries"),
          threads: config.threads,
          memoryMb: config.memory_mb,
          deadlineMs: config.deadline_ms,
          concurrency: config.concurrency,
          maxWaiting: config.max_waiting,
          idleMs: config.idle_ms,
          ready: config.ready_processes,
        })
        measureWaiting(metrics, "analytics queries", () => pool.shares())
        return pool
      },
      stop: (pool) => pool.stop(),
    })
    reg.run("passes", {
      inject: {
        store: Store,
        works: UnitsOfWork,
        clock: Clock,
        ids: Ids,
        leases: Leases,
        log: Log,
        datasets: Datasets,
        files: Files,
        engine: Engine,
        pool: Pool,
      },
      create: (deps) => {
        deps.datasets.watch(eventsDataset, rowNotes({ clock: deps.clock, ids: deps.ids, copied }))
        return new Passes({ ...deps, settings: config, copied, wanted: () => deps.pool.start() })
      },
      start: (passes) => passes.start(),
      stop: (passes) => passes.stop(),
    })
    reg.provide(PageAnalytics, {
      inject: {
        store: Store,
        works: UnitsOfWork,
        clock: Clock,
        datasets: Datasets,
        organizations: Organizations,
        pages: Pages,
        pipelines: EventPipelines,
        files: Files,
        pool: Pool,
      },
      create: (deps) => createPageAnalytics({ ...deps, settings: config }),
    })
  },
})
