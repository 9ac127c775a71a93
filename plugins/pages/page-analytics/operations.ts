// Operations of page analytics: query, schema, status and rebuild.
import { z } from "zod"
import { defineOperation, Timestamp } from "#core"
import { eventColumns } from "./event-columns.ts"
import { PageAnalytics } from "./page-analytics.ts"
import { allowedFunctions, allowedTableFunctions } from "./query/functions.ts"
import { views } from "./views.ts"

const AsOf = Timestamp.nullable().describe("Every event committed before this time is included; null while the first copy is being built.")
const Enabled = z
  .boolean()
  .describe(
    "False if no events of pages are collected, because no page is published or every page-events pipeline is disabled. Empty rows then do not mean no traffic; enable analytics by publishing a page.",
  )

const Note = z.string().optional().describe("Set while `as_of` is null: empty rows then do not mean no traffic.")

/** Returns the note of an answer from before the first events were copied. */
export function noteOf({ as_of, enabled }: { readonly as_of: string | null; readonly enabled: boolean }): { note?: string } {
  if (as_of !== null) return {}
  const note = enabled
    ? "No events have been copied yet, so empty rows do not mean no traffic. Events appear a few seconds after they arrive: ask again."
    : "No events have been copied yet, and no page collects events. Publish a page to collect them."
  return { note }
}

export const Query = z.string().min(1).max(100_000).describe("One SELECT statement in DuckDB SQL.")
export const SnapshotId = z.string().regex(/^[0-9a-f]{32}$/, "a snapshot as an answer names it")

export const Answer = z.object({
  columns: z.array(z.string()),
  types: z.array(z.string()).describe("Types of the engine, parallel to `columns`."),
  rows: z.array(z.array(z.unknown())).describe("Cells in the order of `columns`."),
  truncated: z.boolean().describe("Whether rows were cut: more than 50,000, or too large in total."),
  enabled: Enabled,
  as_of: AsOf,
  note: Note,
  snapshot: SnapshotId.describe("What the answer was made from. The same query with it has the same rows, for `keep_snapshots_days`."),
})

export const queryAnalytics = defineOperation({
  name: "page_analytics.query",
  summary: "Run a read-only SQL query over the organization's page events.",
  description: [
    "DuckDB SQL, one SELECT. Tables: `events` (one row per event) and, without test traffic, `sessions`, `leads`, `pages`, `web_vitals` and `funnel`;",
    "GET /v1/page-analytics/schema has their columns and the functions. At most 50,000 rows come back, then `truncated` is true.",
    "Cells: integers beyond 2^53 and decimals of more than 15 digits are strings; NaN and infinities are strings; dates are `2026-11-20`, timestamps RFC 3339 in UTC,",
    "intervals ISO 8601 durations, blobs base64; lists are lists, structs are objects, maps are lists of [key, value].",
    "`now()` and `current_date` are the time of `as_of`. With the `snapshot` of an earlier answer the same query has the same rows; it is refused with `snapshot_gone` where they cannot be had again, because it expired, or events in it were changed or deleted, and with `not_repeatable` where the query draws at random.",
    "Example: SELECT variant, count(DISTINCT session_id) AS visitors FROM events WHERE event = 'pageview' AND NOT is_test GROUP BY variant",
  ].join(" "),
  http: { method: "POST", path: "/v1/page-analytics/query" },
  access: { scope: "page_analytics:read", role: "member" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  mcp: { listed: true },
  input: z.strictObject({
    query: Query,
    snapshot: SnapshotId.optional().describe("Of an earlier answer: the query is made of the same rows."),
  }),
  output: Answer,
  errors: ["invalid_argument", "permission_denied", "failed_precondition", "resource_exhausted", "deadline_exceeded", "unavailable"],
  examples: [
    { input: { query: "SELECT variant, count(DISTINCT session_id) AS visitors FROM events WHERE event = 'pageview' GROUP BY variant" } },
  ],
  inject: { analytics: PageAnalytics },
  async handle({ input, caller, deps, signal }) {
    const { snapshot, ...answer } = await deps.analytics.query(caller, input, signal)
    return { ...answer, ...noteOf(answer), snapshot: snapshot.id }
  },
})

const tables = [
  { name: "events", about: "One row per event, including test traffic.", columns: [...eventColumns] },
  ...views.map(({ name, about, columns }) => ({ name, about, columns: [...columns] })),
]

export const analyticsSchema = defineOperation({
  name: "page_analytics.schema",
  summary: "Describe the tables, columns and functions of analytics queries.",
  http: { method: "GET", path: "/v1/page-analytics/schema" },
  access: { scope: "page_analytics:read", role: "guest" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject({}),
  output: z.object({
    tables: z.array(
      z.object({
        name: z.string(),
        about: z.string(),
        columns: z.array(z.object({ name: z.string(), type: z.string().describe("Type of the engine."), about: z.string() })),
      }),
    ),
    functions: z.array(z.string()),
    table_functions: z.array(z.string()).describe("Table functions, for FROM."),
  }),
  errors: [],
  handle: () => ({ tables, functions: [...allowedFunctions].sort(), table_functions: [...allowedTableFunctions].sort() }),
})

const Status = z.object({
  enabled: Enabled,
  as_of: AsOf,
  note: Note,
  rows: z.int().describe("Number of events in the copy that queries read."),
  segments: z.int().describe("Number of files of the copy."),
  bytes: z.int(),
  rebuilding: z.boolean().describe("Whether a rebuild is running; queries read the previous copy until it has caught up."),
})

export const analyticsStatus = defineOperation({
  name: "page_analytics.status",
  summary: "Report the freshness and size of the organization's columnar copy of page events.",
  http: { method: "GET", path: "/v1/page-analytics/status" },
  access: { scope: "page_analytics:read", role: "guest" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject({}),
  output: Status,
  errors: [],
  inject: { analytics: PageAnalytics },
  handle: ({ caller, deps }) => statusOf(deps.analytics, caller.organization.id),
})

export const rebuildAnalytics = defineOperation({
  name: "page_analytics.rebuild",
  summary: "Rebuild the columnar copy of page events from the dataset; queries continue meanwhile.",
  http: { method: "POST", path: "/v1/page-analytics/rebuild" },
  access: { scope: "page_analytics:write", role: "admin" },
  hints: { readOnly: false, destructive: false, idempotent: true },
  input: z.strictObject({}),
  output: Status,
  errors: [],
  inject: { analytics: PageAnalytics },
  async handle({ caller, deps }) {
    await deps.analytics.rebuild(caller.organization.id)
    return statusOf(deps.analytics, caller.organization.id)
  },
})

async function statusOf(analytics: PageAnalytics, organization: string) {
  const status = await analytics.status(organization)
  return { ...status, ...noteOf(status) }
}
