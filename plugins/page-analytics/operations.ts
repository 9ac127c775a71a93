// The operations of page analytics (specification 4.8): asking, what can be asked for, how fresh it is, making it again.
import { z } from "zod"
import { defineOperation, Timestamp } from "#core"
import { eventColumns } from "./event-columns.ts"
import { PageAnalytics } from "./page-analytics.ts"
import { allowedFunctions, allowedTableFunctions } from "./query/functions.ts"
import { views } from "./views.ts"

const AsOf = Timestamp.nullable().describe("Every event committed before then is counted; null while the first copy is being made.")
const Enabled = z
  .boolean()
  .describe(
    "False where no page's events are taken, because none is published or each has its page-events pipeline disabled: then no rows do not mean no traffic; enable analytics by publishing a page.",
  )

export const queryAnalytics = defineOperation({
  name: "page_analytics.query",
  summary: "Run a read-only SQL query over the organization's page events.",
  description: [
    "DuckDB's SQL, one SELECT. Tables: `events` (one row an event) and, without test traffic, `sessions`, `leads`, `pages`, `web_vitals` and `funnel`;",
    "GET /v1/page-analytics/schema has their columns and the functions. At most 50,000 rows come back, then `truncated` is true.",
    "Cells: integers beyond 2^53 and decimals of more than 15 digits are text; NaN and infinities are text; dates are `2026-11-20`, timestamps RFC 3339 in UTC,",
    "intervals ISO 8601 durations, blobs base64; lists are lists, structs objects, maps lists of [key, value].",
    "Example: SELECT variant, count(DISTINCT session_id) AS visitors FROM events WHERE event = 'pageview' AND NOT is_test GROUP BY variant",
  ].join(" "),
  http: { method: "POST", path: "/v1/page-analytics/query" },
  access: { scope: "page_analytics:read", role: "member" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject({ query: z.string().min(1).max(100_000).describe("One SELECT in DuckDB's SQL.") }),
  output: z.object({
    columns: z.array(z.string()),
    types: z.array(z.string()).describe("The engine's types, parallel to `columns`."),
    rows: z.array(z.array(z.unknown())).describe("Cells in the order of `columns`."),
    truncated: z.boolean().describe("Rows were cut: there are more than 50,000, or they are too large together."),
    enabled: Enabled,
    as_of: AsOf,
  }),
  errors: ["invalid_argument", "permission_denied", "resource_exhausted", "deadline_exceeded", "unavailable"],
  examples: [
    { input: { query: "SELECT variant, count(DISTINCT session_id) AS visitors FROM events WHERE event = 'pageview' GROUP BY variant" } },
  ],
  inject: { analytics: PageAnalytics },
  handle: ({ input, caller, deps, signal }) => deps.analytics.query(caller, input.query, signal),
})

const tables = [
  { name: "events", about: "One row an event, test traffic included.", columns: [...eventColumns] },
  ...views.map(({ name, about, columns }) => ({ name, about, columns: [...columns] })),
]

export const analyticsSchema = defineOperation({
  name: "page_analytics.schema",
  summary: "What an analytics query can read and call: tables, columns and functions.",
  http: { method: "GET", path: "/v1/page-analytics/schema" },
  access: { scope: "page_analytics:read", role: "guest" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject({}),
  output: z.object({
    tables: z.array(
      z.object({
        name: z.string(),
        about: z.string(),
        columns: z.array(z.object({ name: z.string(), type: z.string().describe("The engine's."), about: z.string() })),
      }),
    ),
    functions: z.array(z.string()),
    table_functions: z.array(z.string()).describe("Those that may stand in FROM."),
  }),
  errors: [],
  handle: () => ({ tables, functions: [...allowedFunctions].sort(), table_functions: [...allowedTableFunctions].sort() }),
})

const Status = z.object({
  enabled: Enabled,
  as_of: AsOf,
  rows: z.int().describe("Events in the copy that queries read."),
  segments: z.int().describe("Files it is made of."),
  bytes: z.int(),
  rebuilding: z.boolean().describe("A copy is being made again; queries read the one before until it has caught up."),
})

export const analyticsStatus = defineOperation({
  name: "page_analytics.status",
  summary: "How fresh and how large the organization's columnar copy of page events is.",
  http: { method: "GET", path: "/v1/page-analytics/status" },
  access: { scope: "page_analytics:read", role: "guest" },
  hints: { readOnly: true, destructive: false, idempotent: true },
  input: z.strictObject({}),
  output: Status,
  errors: [],
  inject: { analytics: PageAnalytics },
  handle: ({ caller, deps }) => deps.analytics.status(caller.organization.id),
})

export const rebuildAnalytics = defineOperation({
  name: "page_analytics.rebuild",
  summary: "Make the columnar copy of page events again from the dataset; queries go on meanwhile.",
  http: { method: "POST", path: "/v1/page-analytics/rebuild" },
  access: { scope: "page_analytics:write", role: "admin" },
  hints: { readOnly: false, destructive: false, idempotent: true },
  input: z.strictObject({}),
  output: Status,
  errors: [],
  inject: { analytics: PageAnalytics },
  async handle({ caller, deps }) {
    await deps.analytics.rebuild(caller.organization.id)
    return deps.analytics.status(caller.organization.id)
  },
})
