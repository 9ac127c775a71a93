// What an operator can set about page analytics.
import { z } from "zod"

export const AnalyticsSettings = z.strictObject({
  concurrency: z
    .int()
    .min(1)
    .max(64)
    .default(2)
    .describe("Queries at once on this node; an organization gets at most half of them, rounded up."),
  max_waiting: z
    .int()
    .min(0)
    .max(10_000)
    .default(32)
    .describe("Queries that wait for their turn. Beyond that, one of the organization that has most of them waiting is refused."),
  deadline_ms: z.int().min(100).max(300_000).default(10_000).describe("Time a query has; then its process is killed."),
  memory_mb: z.int().min(128).max(65_536).default(1_024).describe("Memory of one query."),
  threads: z.int().min(1).max(64).default(2).describe("Threads of one query."),
  idle_ms: z.int().min(0).max(3_600_000).default(30_000).describe("How long a query process waits for its organization's next query."),
  ready_processes: z
    .int()
    .min(0)
    .max(16)
    .default(1)
    .describe("Idle query processes kept ready, about 120 MB each; with 0 a query waits for its own to start."),
  max_rows: z.int().min(1).max(50_000).default(50_000).describe("Rows of an answer; more are cut and `truncated` says so."),
  max_result_bytes: z.int().min(1_024).default(16_777_216).describe("Size of an answer; rows beyond it are cut likewise."),
  seal_every_ms: z.int().min(100).max(5_000).default(2_000).describe("How often new rows are sealed into segments."),
  check_every_ms: z.int().min(1_000).default(900_000).describe("How often the copy's days are counted against the store."),
  segment_rows: z.int().min(1_000).max(2_000_000).default(400_000).describe("Rows of a full segment; smaller ones are merged up to it."),
  keep_replaced_ms: z
    .int()
    .min(0)
    .default(900_000)
    .describe(
      "How long a replaced segment's file stays for queries under way on any node, and for readers of the bucket that listed it before.",
    ),
  keep_days: z.int().min(1).default(1_095).describe("Days that the copy holds; older rows stay in the dataset only."),
  cache_bytes: z
    .int()
    .min(0)
    .default(21_474_836_480)
    .describe("Segments fetched from a bucket that this node keeps; least recently used go first."),
})

export type AnalyticsSettings = z.output<typeof AnalyticsSettings>
