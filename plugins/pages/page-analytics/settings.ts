// Operator settings for page analytics.
import { z } from "zod"
import { token } from "#core"

const monthMs = 2_678_400_000

export const AnalyticsSettings = z.strictObject({
  concurrency: z
    .int()
    .min(1)
    .max(64)
    .default(2)
    .describe("Maximum concurrent queries on this node; an organization gets at most half of them, rounded up."),
  max_waiting: z
    .int()
    .min(0)
    .max(10_000)
    .default(32)
    .describe("Maximum waiting queries. Beyond it, a query of the organization with the most waiting queries is refused."),
  deadline_ms: z
    .int()
    .min(100)
    .max(300_000)
    .default(10_000)
    .describe("Timeout of a query, without the start of its process; the process is then killed."),
  memory_mb: z.int().min(128).max(65_536).default(1_024).describe("Memory limit of one query."),
  threads: z.int().min(1).max(64).default(2).describe("Threads of one query."),
  idle_ms: z.int().min(0).max(3_600_000).default(30_000).describe("Idle time after which a query process ends."),
  ready_processes: z
    .int()
    .min(0)
    .max(16)
    .default(1)
    .describe("Idle query processes kept ready, about 120 MB each; with 0 a query waits for its own to start."),
  max_rows: z.int().min(1).max(50_000).default(50_000).describe("Maximum rows of a result; more are cut, and `truncated` is true."),
  max_result_bytes: z
    .int()
    .min(1_024)
    .max(268_435_456)
    .default(16_777_216)
    .describe("Maximum size of a result; rows beyond it are cut likewise."),
  seal_every_ms: z.int().min(100).max(5_000).default(2_000).describe("Interval between passes that seal new rows into segments."),
  check_every_ms: z
    .int()
    .min(1_000)
    .max(monthMs)
    .default(900_000)
    .describe("Interval between checks of the copy's row counts against the store."),
  segment_rows: z
    .int()
    .min(1_000)
    .max(2_000_000)
    .default(400_000)
    .describe("Rows of a full segment; smaller segments are merged up to it."),
  keep_replaced_ms: z
    .int()
    .min(0)
    .max(monthMs)
    .default(900_000)
    .describe("Time that a replaced segment's file is kept, for running queries on any node and for readers of the bucket."),
  keep_days: z.int().min(1).max(36_500).default(1_095).describe("Days of events in the copy; older rows are in the dataset only."),
  keep_snapshots_days: z
    .int()
    .min(1)
    .max(1_095)
    .default(7)
    .describe("Days for which a query can be repeated with the `snapshot` of its answer; saved reports keep theirs."),
  max_reports: z.int().min(0).max(10_000).default(500).describe("Maximum saved reports of an organization."),
  cache_bytes: z
    .int()
    .min(0)
    .default(21_474_836_480)
    .describe("Maximum size of this node's cache of segments from a bucket; the least recently used are evicted first."),
})

export type AnalyticsSettings = z.output<typeof AnalyticsSettings>

/** Maximum number of saved reports per organization. */
export const ReportLimit = token<number>("analytics report limit")
